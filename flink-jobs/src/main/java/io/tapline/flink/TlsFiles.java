package io.tapline.flink;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Instant;
import java.util.Base64;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * A process's TLS files in PEM format. Paths are strings, so that a job can be serialized with
 * them.
 *
 * @param authorities trusted CA certificates; empty for the system's
 * @param certificate certificate chain of this process; empty for none
 * @param key the certificate's private key, PKCS #8 without a password
 */
public record TlsFiles(String authorities, String certificate, String key) implements Serializable {
  /** No TLS. */
  public static final TlsFiles NONE = new TlsFiles("", "", "");

  private static final char[] NO_PASSWORD = {};
  private static final Pattern KEY =
      Pattern.compile("-----BEGIN PRIVATE KEY-----([^-]+)-----END PRIVATE KEY-----");
  private static final List<String> KEY_KINDS = List.of("EC", "RSA", "Ed25519");

  public boolean isNone() {
    return equals(NONE);
  }

  /** Returns the three paths, separated by commas, as {@link #parse} reads them; empty for none. */
  public String format() {
    return isNone() ? "" : String.join(",", authorities, certificate, key);
  }

  /** Parses the result of {@link #format}. */
  public static TlsFiles parse(String text) {
    String[] paths = text.split(",", -1);
    if (text.isEmpty()) {
      return NONE;
    } else if (paths.length != 3) {
      throw new IllegalArgumentException("'" + text + "' is not CA,CERTIFICATE,KEY");
    }
    return new TlsFiles(paths[0], paths[1], paths[2]);
  }

  /** Returns files for a process that trusts these authorities and has no certificate. */
  public static TlsFiles trusting(Path authorities) {
    return new TlsFiles(authorities.toString(), "", "");
  }

  /**
   * Reads the files.
   *
   * @throws IOException with a user-facing message
   */
  public SSLContext context() throws IOException {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      KeyManagerFactory keys = null;
      if (!certificate.isEmpty()) {
        keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(identity(), NO_PASSWORD);
      }
      context.init(
          keys == null ? null : keys.getKeyManagers(),
          authorities.isEmpty() ? null : new TrustManager[] {trust()},
          null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new IOException(certificate + ", " + key + ": " + e.getMessage(), e);
    }
  }

  /**
   * Returns the earliest expiry of the certificates that this process presents.
   *
   * @throws IOException with a user-facing message
   */
  public Instant notAfter() throws IOException {
    try {
      return certificates(certificate).stream()
          .map(certificate -> ((X509Certificate) certificate).getNotAfter().toInstant())
          .min(Comparator.naturalOrder())
          .orElseThrow();
    } catch (GeneralSecurityException e) {
      throw new IOException(certificate + ": " + e.getMessage(), e);
    }
  }

  /**
   * Returns a trust manager for the authorities. REQUIRES: {@code authorities} is not empty.
   *
   * @throws IOException with a user-facing message
   */
  public X509ExtendedTrustManager trust() throws IOException {
    try {
      TrustManagerFactory trust =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(trusted());
      return (X509ExtendedTrustManager) trust.getTrustManagers()[0];
    } catch (GeneralSecurityException e) {
      throw new IOException(authorities + ": " + e.getMessage(), e);
    }
  }

  private KeyStore identity() throws IOException, GeneralSecurityException {
    KeyStore store = empty();
    store.setKeyEntry(
        "own", privateKey(), NO_PASSWORD, certificates(certificate).toArray(Certificate[]::new));
    return store;
  }

  private KeyStore trusted() throws IOException, GeneralSecurityException {
    KeyStore store = empty();
    int number = 0;
    for (Certificate authority : certificates(authorities)) {
      store.setCertificateEntry("authority-" + number++, authority);
    }
    return store;
  }

  private static KeyStore empty() throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, NO_PASSWORD);
    return store;
  }

  private static Collection<? extends Certificate> certificates(String file)
      throws IOException, GeneralSecurityException {
    byte[] pem = read(file);
    Collection<? extends Certificate> all = List.of();
    try {
      all =
          CertificateFactory.getInstance("X.509")
              .generateCertificates(new ByteArrayInputStream(pem));
    } catch (GeneralSecurityException e) {
      // The error is reported below.
    }
    if (all.isEmpty()) {
      throw new IOException(file + ": contains no PEM certificate");
    }
    return all;
  }

  private PrivateKey privateKey() throws IOException, GeneralSecurityException {
    Matcher pem = KEY.matcher(new String(read(key), StandardCharsets.US_ASCII));
    if (!pem.find()) {
      throw new IOException(key + ": has no PRIVATE KEY in PEM (PKCS #8, without a password)");
    }
    PKCS8EncodedKeySpec encoded =
        new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(pem.group(1)));
    for (String kind : KEY_KINDS) {
      try {
        return KeyFactory.getInstance(kind).generatePrivate(encoded);
      } catch (InvalidKeySpecException another) {
        // The file does not state the type of its key.
      }
    }
    throw new IOException(key + ": the key is not one of " + KEY_KINDS);
  }

  private static byte[] read(String file) throws IOException {
    try {
      return Files.readAllBytes(Path.of(file));
    } catch (IOException e) {
      throw new IOException(file + ": can't be read; does it exist?", e);
    }
  }
}
