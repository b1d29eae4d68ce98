//! `/api/waitlist` while the store fails, and what is logged of bodies. `http/api.txt` has the other requests.

use crate::{fixtures::failing_store, test_site::TestSite};
use landing::{
    waitlist::StoreError,
    wire::{ConfirmBody, SignUpBody},
};

#[tokio::test]
async fn store_error_is_503_without_detail() {
    for reason in [StoreError::Busy, StoreError::Stopped] {
        let site = TestSite::with_store(failing_store(reason)).await;
        let response = site.join("ann@example.com").await;
        assert_eq!(response.headers()["retry-after"], "1");
        assert_eq!(response.status(), 503);
        let error = r#"{"error":"The waitlist can't be reached. Try again in a moment."}"#;
        assert_eq!(response.text().await.expect("text"), error);
        assert_eq!(site.count().await, 7, "the count is still available");

        let page = site.post_form("email=ann%40example.com").await;
        assert_eq!(page.status(), 503);
        assert_eq!(page.headers()["retry-after"], "1");
        let page = page.text().await.expect("text");
        assert!(page.contains("Failed to add to waitlist. Please try again."));
    }
}

#[test]
fn debug_output_of_a_body_has_neither_an_address_nor_a_code() {
    let sign_up = SignUpBody::with_email("ann@example.com");
    let confirm = ConfirmBody {
        email: "ann@example.com".to_owned(),
        code: "358208".to_owned(),
    };
    let shown = format!("{sign_up:?} {confirm:?}");
    assert_eq!(shown, "SignUpBody { .. } ConfirmBody { .. }");
}
