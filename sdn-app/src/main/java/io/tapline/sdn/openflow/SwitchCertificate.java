package io.tapline.sdn.openflow;

import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;

/**
 * The datapath IDs that a switch's certificate is valid for: its subjectAltName lists them as URIs,
 * {@code tapline:datapath:0x1f} or {@code tapline:datapath:31}.
 *
 * @param names the URIs with this prefix, including those without a valid ID
 */
record SwitchCertificate(String subject, Set<String> names, Set<Long> datapaths) {
  private static final String PREFIX = "tapline:datapath:";
  private static final String HEX = "0x";
  private static final int URI = 6;

  /** Returns the peer's certificate after a completed handshake. */
  static SwitchCertificate of(SSLSession session) throws SSLPeerUnverifiedException {
    X509Certificate certificate = (X509Certificate) session.getPeerCertificates()[0];
    Set<String> names =
        uris(certificate).filter(uri -> uri.startsWith(PREFIX)).collect(Collectors.toSet());
    Set<Long> datapaths = new HashSet<>();
    names.forEach(name -> add(name.substring(PREFIX.length()), datapaths));
    return new SwitchCertificate(certificate.getSubjectX500Principal().getName(), names, datapaths);
  }

  private static Stream<String> uris(X509Certificate certificate) {
    try {
      var names = certificate.getSubjectAlternativeNames();
      return names == null
          ? Stream.empty()
          : names.stream()
              .filter(name -> Integer.valueOf(URI).equals(name.get(0)))
              .map((List<?> name) -> (String) name.get(1));
    } catch (CertificateParsingException e) {
      return Stream.empty();
    }
  }

  private static void add(String text, Set<Long> datapaths) {
    try {
      datapaths.add(
          text.startsWith(HEX)
              ? Long.parseUnsignedLong(text.substring(HEX.length()), 16)
              : Long.parseUnsignedLong(text));
    } catch (NumberFormatException e) {
      // The name contains no valid datapath ID, so it matches none.
    }
  }

  /** Returns the reason why the switch may not use this datapath ID; empty if it may. */
  String refusal(long datapath, boolean anyDatapath) {
    if (datapaths.contains(datapath) || names.isEmpty() && anyDatapath) {
      return "";
    }
    String allowed =
        names.isEmpty()
            ? "no datapath ID"
            : names.stream().sorted().collect(Collectors.joining(", "));
    return "the certificate of %s is not valid for datapath 0x%x: its subjectAltName has %s"
        .formatted(subject, datapath, allowed);
  }
}
