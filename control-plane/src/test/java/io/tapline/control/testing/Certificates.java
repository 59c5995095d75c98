package io.tapline.control.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** An authority, and certificates that it signed, as files in a folder. Made by openssl. */
public final class Certificates {
  private static final List<String> KEY =
      List.of("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes");

  private final Path folder;
  private final String name;

  private Certificates(Path folder, String name) {
    this.folder = folder;
    this.name = name;
  }

  /** A new authority. */
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

  /** Its own certificate. */
  public Path file() {
    return folder.resolve(name + ".pem");
  }

  /**
   * Has it sign a certificate, NODE.pem, with its key in NODE.key.
   *
   * @param subject "IP:127.0.0.1" or "DNS:h1"
   */
  public void sign(String node, String subject) throws Exception {
    openssl(
        "req",
        "-x509",
        "-days",
        "2",
        "-subj",
        "/CN=" + node,
        "-addext",
        "subjectAltName=" + subject,
        "-addext",
        "basicConstraints=critical,CA:FALSE",
        "-CA",
        name + ".pem",
        "-CAkey",
        name + ".key",
        "-keyout",
        node + ".key",
        "-out",
        node + ".pem");
  }

  private void openssl(String... arguments) throws IOException, InterruptedException {
    List<String> command = new java.util.ArrayList<>(List.of("openssl"));
    command.addAll(List.of(arguments));
    command.addAll(KEY);
    Process process =
        new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes());
    assertThat(process.waitFor()).as(output).isZero();
  }
}
