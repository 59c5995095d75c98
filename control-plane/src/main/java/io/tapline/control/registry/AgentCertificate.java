package io.tapline.control.registry;

import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;

/**
 * The certificate that an agent presented.
 *
 * @param subject its full subject
 * @param names hosts that it may represent: the subject's common name, and its DNS names
 */
record AgentCertificate(String subject, Set<String> names) {
  private static final int DNS = 2;
  private static final String COMMON_NAME = "CN";

  /** Returns the peer's certificate after a completed handshake. */
  static AgentCertificate of(SSLSession session) {
    try {
      X509Certificate certificate = (X509Certificate) session.getPeerCertificates()[0];
      String subject = certificate.getSubjectX500Principal().getName();
      return new AgentCertificate(
          subject,
          Stream.concat(commonNames(subject), dnsNames(certificate)).collect(Collectors.toSet()));
    } catch (SSLPeerUnverifiedException e) {
      throw new IllegalStateException("the handshake asks for a certificate", e);
    }
  }

  private static Stream<String> commonNames(String subject) {
    try {
      return new LdapName(subject)
          .getRdns().stream()
              .filter(part -> part.getType().equalsIgnoreCase(COMMON_NAME))
              .map(part -> part.getValue().toString());
    } catch (InvalidNameException e) {
      return Stream.empty();
    }
  }

  private static Stream<String> dnsNames(X509Certificate certificate) {
    try {
      var names = certificate.getSubjectAlternativeNames();
      return names == null
          ? Stream.empty()
          : names.stream()
              .filter(name -> Integer.valueOf(DNS).equals(name.get(0)))
              .map((List<?> name) -> (String) name.get(1));
    } catch (CertificateParsingException e) {
      return Stream.empty();
    }
  }

  /** Returns why its holder may not be the agent of this host; empty if it may. */
  String refusal(String agent) {
    return names.contains(agent)
        ? ""
        : "the certificate of %s is not valid for the lease of %s: it names %s"
            .formatted(
                subject,
                agent,
                names.isEmpty()
                    ? "no host"
                    : names.stream().sorted().collect(Collectors.joining(", ")));
  }
}
