package io.tapline.control.registry;

import io.tapline.sdn.switches.LogLimit;
import java.net.Socket;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedTrustManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Delegates to another trust manager, and writes the agents' certificates that it rejects to the
 * audit log, since gRPC closes such connections silently. Thread-safe.
 */
final class AuditedTrust extends X509ExtendedTrustManager {
  private static final Logger AUDIT = LoggerFactory.getLogger("tapline.audit");
  private static final int LONGEST = 256;

  private final X509ExtendedTrustManager trust;
  private final LogLimit refusals = new LogLimit();

  AuditedTrust(X509ExtendedTrustManager trust) {
    this.trust = trust;
  }

  private interface Check {
    void run() throws CertificateException;
  }

  private void audited(X509Certificate[] chain, Check check) throws CertificateException {
    try {
      check.run();
    } catch (CertificateException e) {
      String subject = printable(chain[0].getSubjectX500Principal().getName());
      if (refusals.take(subject, System.nanoTime())) {
        AUDIT.info(
            "rejected an agent's certificate from {}: {}", subject, printable(e.getMessage()));
      }
      throw e;
    }
  }

  /**
   * Replaces unprintable characters and limits the length, because the text comes from an
   * unverified certificate.
   */
  private static String printable(String text) {
    String line = String.valueOf(text).replaceAll("[^\\x20-\\x7e]", "?");
    return line.substring(0, Math.min(LONGEST, line.length()));
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
    audited(chain, () -> trust.checkClientTrusted(chain, type));
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
      throws CertificateException {
    audited(chain, () -> trust.checkClientTrusted(chain, type, socket));
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
      throws CertificateException {
    audited(chain, () -> trust.checkClientTrusted(chain, type, engine));
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
    trust.checkServerTrusted(chain, type);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
      throws CertificateException {
    trust.checkServerTrusted(chain, type, socket);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
      throws CertificateException {
    trust.checkServerTrusted(chain, type, engine);
  }

  @Override
  public X509Certificate[] getAcceptedIssuers() {
    return trust.getAcceptedIssuers();
  }
}
