package io.tapline.control.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A certificate authority and the certificates that it signed, as files in a folder. Created with
 * openssl.
 */
public final class Certificates {
  private static final List<String> KEY =
      List.of("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes");

  private final Path folder;
  private final String name;

  private Certificates(Path folder, String name) {
    this.folder = folder;
    this.name = name;
  }

  /** Creates a certificate authority. */
  public static Certificates authority(Path folder, String name) throws Exception {
    Certificates authority = new Certificates(folder, name);
    authority.openssl(
        "req",
        "-x509",
        "-days",
        "2",
        "-subj",
        "/CN=" + name,
        "-keyout",
        name + ".key",
        "-out",
        name + ".pem");
    return authority;
  }

  /** Returns the authority's certificate. */
  public Path file() {
    return folder.resolve(name + ".pem");
  }

  /**
   * Signs a certificate, NODE.pem, with its key in NODE.key.
   *
   * @param subject "IP:127.0.0.1" or "DNS:h1"
   */
  public void sign(String node, String subject) throws Exception {
    sign(node, node, subject, 2);
  }

  /** Signs a certificate whose common name differs from the name of its files. */
  public void sign(String node, String commonName, String subject) throws Exception {
    sign(node, commonName, subject, 2);
  }

  /** Signs a certificate that has expired. */
  public void signExpired(String node, String commonName, String subject) throws Exception {
    sign(node, commonName, subject, -1);
  }

  private void sign(String node, String commonName, String subject, int days) throws Exception {
    openssl(
        "req",
        "-new",
        "-subj",
        "/CN=" + commonName,
        "-addext",
        "subjectAltName=" + subject,
        "-addext",
        "basicConstraints=critical,CA:FALSE",
        "-keyout",
        node + ".key",
        "-out",
        node + ".csr");
    run(
        List.of(
            "openssl",
            "x509",
            "-req",
            "-in",
            node + ".csr",
            "-days",
            Integer.toString(days),
            "-copy_extensions",
            "copy",
            "-CA",
            name + ".pem",
            "-CAkey",
            name + ".key",
            "-CAcreateserial",
            "-out",
            node + ".pem"));
  }

  /** Returns the TLS files of a process that has the certificate NODE.pem. */
  public TlsFiles files(String node) {
    return new TlsFiles(file().toString(), path(node + ".pem"), path(node + ".key"));
  }

  /** Returns the TLS files of a process that has no certificate. */
  public TlsFiles nobody() {
    return TlsFiles.trusting(file());
  }

  private String path(String file) {
    return folder.resolve(file).toString();
  }

  private void openssl(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of("openssl"));
    command.addAll(List.of(arguments));
    command.addAll(KEY);
    run(command);
  }

  private void run(List<String> command) throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes());
    assertThat(process.waitFor()).as(output).isZero();
  }
}
