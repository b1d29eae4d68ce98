//! TLS to a database, by rustls.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What a URL says of it.
#[derive(Clone, Default)]
pub(super) struct TlsOptions {
    pub(super) trust: Trust,
    /// Of the authority that is trusted; without it, the system's are.
    pub(super) root_certificate: Option<PathBuf>,
    /// With which we show who we are, and its key.
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
    /// The oldest and the newest version of TLS, by their numbers in the protocol.
    pub(super) min_version: Option<u16>,
    pub(super) max_version: Option<u16>,
}

/// Whom the other end may be.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Trust {
    /// Whoever answers: nobody can listen, but somebody could stand in between.
    #[default]
    Any,
    /// Who has a certificate of a trusted authority.
    Authority,
    /// Who has one for the name of the host.
    Host,
}

impl TlsOptions {
    /// What connects so.
    ///
    /// # Errors
    /// A sentence for the owner: a file can't be read, or nobody is trusted.
    pub(super) fn connector(&self) -> Result<MakeRustlsConnect, String> {
        let provider = Arc::new(ring::default_provider());
        let (trusted, authorities) = match self.trust {
            Trust::Any => (Vec::new(), None),
            _ => {
                let (trusted, authorities) = self.authorities(&provider)?;
                (trusted, Some(authorities))
            }
        };
        let verifier = Verifier {
            provider: Arc::clone(&provider),
            authorities,
            trusted,
            checks_host_name: self.trust == Trust::Host,
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&self.versions())
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let config = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                let with_path = |error| format!("{}: {error}", key.display());
                let key = PrivateKeyDer::from_pem_file(key).map_err(with_path)?;
                let config = config.with_client_auth_cert(certificates(certificate)?, key);
                config.map_err(|error| format!("{}: {error}", certificate.display()))?
            }
            (None, None) => config.with_no_client_auth(),
            _ => return Err("sslcert and sslkey come together or not at all".into()),
        };
        Ok(MakeRustlsConnect::new(config))
    }

    /// The certificates of `sslrootcert`, or the system's; and what verifies by them.
    fn authorities(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<(Vec<CertificateDer<'static>>, Arc<WebPkiServerVerifier>), String> {
        let mut roots = RootCertStore::empty();
        let (from, found) = match &self.root_certificate {
            Some(file) => (file.display().to_string(), certificates(file)?),
            None => (
                "the system".to_owned(),
                rustls_native_certs::load_native_certs().certs,
            ),
        };
        roots.add_parsable_certificates(found.iter().cloned());
        if roots.is_empty() {
            return Err(format!(
                "{from} has no certificate of an authority: name the file of the database's with sslrootcert"
            ));
        }
        let verifier =
            WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider)).build();
        Ok((found, verifier.map_err(|error| error.to_string())?))
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(file).and_then(|found| found.collect());
    read.map_err(|error| format!("{}: {error}", file.display()))
}

/// What libpq's modes check, of which rustls has only the strictest.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    authorities: Option<Arc<WebPkiServerVerifier>>,
    /// What the authorities were read from.
    trusted: Vec<CertificateDer<'static>>,
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
        let Some(authorities) = &self.authorities else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified = authorities.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // The last thing that is checked: the certificate is good.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_host_name => Ok(ServerCertVerified::assertion()),
            // As `openssl req -x509` makes it: the server's own certificate is marked as an authority's. OpenSSL,
            // and so libpq, accepts it when it is the trusted one itself. Its dates were checked before its mark.
            Err(Error::InvalidCertificate(CertificateError::Other(reason)))
                if reason.to_string().contains("CaUsedAsEndEntity")
                    && self.trusted.iter().any(|trusted| trusted == end_entity) =>
            {
                if self.checks_host_name {
                    verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                }
                Ok(ServerCertVerified::assertion())
            }
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
