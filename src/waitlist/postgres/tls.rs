//! TLS to a database, with rustls.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{
        CertificateDer, PrivateKeyDer, ServerName, UnixTime,
        pem::{self, PemObject},
    },
};

/// An error in the TLS options of a URL.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error(
        "cannot read {}: {}; correct sslrootcert, sslcert or sslkey in the URL",
        path.display(), describe(error)
    )]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: pem::Error,
    },
    /// Only one of `sslcert` and `sslkey` is set.
    #[error("the URL has only one of sslcert and sslkey; set both or none")]
    HalfClientCertificate,
    /// The file, or the system, has no certificate of an authority.
    #[error(
        "{origin} has no certificate of an authority; set sslrootcert to the file of the database's authority"
    )]
    NoAuthority {
        /// The file, or the system.
        origin: String,
    },
    /// rustls rejects the client certificate or its key.
    #[error("cannot use the certificate: {0}; correct sslcert or sslkey in the URL")]
    Rustls(#[from] Error),
}

/// The TLS options of a URL.
#[derive(Clone, Default)]
pub(super) struct TlsOptions {
    pub(super) trust: Trust,
    /// The file with the trusted authorities. Without it, the system's authorities are trusted.
    pub(super) root_certificate: Option<PathBuf>,
    /// The file with the client certificate.
    pub(super) certificate: Option<PathBuf>,
    /// The file with the key of the client certificate.
    pub(super) key: Option<PathBuf>,
}

/// Which servers to trust.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Trust {
    /// Any server. Eavesdroppers are shut out, but a man in the middle is not.
    #[default]
    Any,
    /// A server with a certificate of a trusted authority.
    Authority,
    /// A server with such a certificate for the name of the host.
    Host,
}

impl TlsOptions {
    /// Returns the connector with these options.
    ///
    /// # Errors
    /// [`TlsError`] if a file cannot be read, or there is no authority to trust.
    pub(super) fn connector(&self) -> Result<MakeRustlsConnect, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let authority_verifier = match self.trust {
            Trust::Any => None,
            _ => Some(self.authorities(&provider)?),
        };
        let verifier = Verifier {
            provider: Arc::clone(&provider),
            authority_verifier,
            checks_host_name: self.trust == Trust::Host,
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let config = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                let key = PrivateKeyDer::from_pem_file(key).map_err(file_error(key))?;
                config.with_client_auth_cert(certificates(certificate)?, key)?
            }
            (None, None) => config.with_no_client_auth(),
            _ => return Err(TlsError::HalfClientCertificate),
        };
        Ok(MakeRustlsConnect::new(config))
    }

    /// Returns a verifier that trusts the certificates of `sslrootcert`, or the system's.
    fn authorities(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<WebPkiServerVerifier>, TlsError> {
        let mut roots = RootCertStore::empty();
        let (origin, found) = match &self.root_certificate {
            Some(file) => (file.display().to_string(), certificates(file)?),
            None => (
                "the system".to_owned(),
                rustls_native_certs::load_native_certs().certs,
            ),
        };
        roots.add_parsable_certificates(found);
        let verifier =
            WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider)).build();
        verifier.map_err(|_| TlsError::NoAuthority { origin })
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(file).and_then(|found| found.collect());
    read.map_err(file_error(file))
}

/// Describes an error of a file, without the parser's name for errors of the system.
fn describe(error: &pem::Error) -> String {
    match error {
        pem::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// Returns a function that adds the path of a file to an error.
fn file_error(path: &Path) -> impl Fn(pem::Error) -> TlsError + use<'_> {
    move |error| TlsError::File {
        path: path.to_owned(),
        error,
    }
}

/// Verifies certificates by libpq's modes. rustls has only the strictest of them.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// Verifies certificates of the trusted authorities, or `None` if any server is trusted.
    authority_verifier: Option<Arc<WebPkiServerVerifier>>,
    checks_host_name: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority_verifier) = &self.authority_verifier else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified = authority_verifier.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // The name is checked last, so the rest of the certificate is valid.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_host_name => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
