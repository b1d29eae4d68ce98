//! The results of deliveries in the ledger. Every store passes these tests.

use landing::waitlist::{DeliveryState, StoreError};

use super::{
    StoreFixture,
    ledger::{begin, begin_message, first_starts, result, start, states, status},
};

conformance_tests! {
    results_are_kept_with_their_replies,
    late_and_repeated_messages_of_an_attempt_change_nothing,
    two_results_of_an_attempt_are_not_both_recorded,
}

async fn results_are_kept_with_their_replies(fixture: impl StoreFixture) {
    let list = fixture.open();
    let launch = begin_message(&*list, "launch", 7).await;
    let results = [
        status(
            DeliveryState::Accepted,
            Some((250, "2.0.0 Ok: queued as 4ABC")),
        ),
        status(
            DeliveryState::Refused,
            Some((550, "5.1.1 <address>: no such user")),
        ),
        status(DeliveryState::Deferred, Some((451, "4.7.1 greylisted"))),
        status(DeliveryState::Unknown, None),
        status(DeliveryState::Skipped, None),
        status(DeliveryState::Waiting, None),
        status(DeliveryState::Refused, Some((554, &"é".repeat(300)))),
    ];
    let first = (0..).zip(&results);
    let first = first.map(|(number, status)| result(number, 1, status.clone()));
    let begun = list.begin_deliveries(&launch, first_starts(7)).await;
    assert_eq!(begun, Ok(vec![true; 7]));
    assert_eq!(
        list.finish_deliveries(&launch, first.collect()).await,
        Ok(())
    );
    let deliveries = list.deliveries(&launch).await.expect("readable");
    let statuses: Vec<_> = deliveries.into_iter().map(|it| it.status).collect();
    assert_eq!(statuses, results);
    assert_eq!(
        statuses[6].reply.as_ref().map(|it| it.text().len()),
        Some(200)
    );
}

/// The first attempt is given back. Everything that was sent for it arrives again during the second one.
async fn late_and_repeated_messages_of_an_attempt_change_nothing(fixture: impl StoreFixture) {
    let list = fixture.open();
    let launch = begin_message(&*list, "launch", 1).await;
    let (first, second) = (
        start(0, DeliveryState::Waiting, 0),
        start(0, DeliveryState::Waiting, 1),
    );
    let given_back = vec![result(0, 1, status(DeliveryState::Waiting, None))];
    let accepted = vec![result(0, 2, status(DeliveryState::Accepted, None))];
    assert!(begin(&*list, &launch, first).await);
    for _ in 0..2 {
        let finished = list.finish_deliveries(&launch, given_back.clone()).await;
        assert_eq!(finished, Ok(()));
    }
    assert!(!begin(&*list, &launch, first).await);
    assert!(begin(&*list, &launch, second).await);
    let finished = list.finish_deliveries(&launch, given_back.clone()).await;
    assert_eq!(finished, Err(StoreError::Superseded));
    assert!(!begin(&*list, &launch, first).await);
    for _ in 0..2 {
        let finished = list.finish_deliveries(&launch, accepted.clone()).await;
        assert_eq!(finished, Ok(()));
    }
    for again in [first, second] {
        assert!(!begin(&*list, &launch, again).await);
    }
    let finished = list.finish_deliveries(&launch, given_back).await;
    assert_eq!(finished, Err(StoreError::Superseded));
    let deliveries = list.deliveries(&launch).await.expect("readable");
    let delivery = &deliveries[0];
    assert_eq!(
        (delivery.status.state, delivery.attempts),
        (DeliveryState::Accepted, 2)
    );
}

/// A sender that was believed dead finishes its attempt. Whoever has noted that the result is unknown does not undo
/// that later.
async fn two_results_of_an_attempt_are_not_both_recorded(fixture: impl StoreFixture) {
    let list = fixture.open();
    let launch = begin_message(&*list, "launch", 1).await;
    assert!(begin(&*list, &launch, start(0, DeliveryState::Waiting, 0)).await);
    let unknown = vec![result(0, 1, status(DeliveryState::Unknown, None))];
    let accepted = vec![result(0, 1, status(DeliveryState::Accepted, None))];
    for (results, outcome) in [
        (&unknown, Ok(())),
        (&accepted, Ok(())),
        (&unknown, Err(StoreError::Superseded)),
    ] {
        let finished = list.finish_deliveries(&launch, results.clone()).await;
        assert_eq!(finished, outcome);
    }
    assert_eq!(states(&*list, &launch).await, [DeliveryState::Accepted]);
}
