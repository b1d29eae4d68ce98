//! `landing health`, for the health check of a container. `http/starts.txt` has its other results.

use super::{send_failures::fake_site, stderr};

#[test]
fn fails_if_the_store_does_or_another_program_responds() {
    for (status, expected) in [
        ("503 Service Unavailable", "cannot store sign-ups"),
        ("404 Not Found", "another program"),
        ("not HTTP", "no healthy server"),
    ] {
        let origin = fake_site(status);
        let addr = origin.trim_start_matches("http://");
        let cli = super::without_server();
        let error = stderr(&cli.run(&["health", "--addr", addr]).code(1));
        assert!(error.contains(expected), "{status}: {error}");
    }
}
