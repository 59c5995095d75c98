package io.tapline.matrix;

import io.tapline.flink.Login;
import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * An intruder that has all the secrets of a component.
 *
 * @param role the component's column in the table
 * @param folder folder with the component's certificate, key and tokens; the certificate may be
 *     missing
 * @param authorities CA certificates of all services, since an intruder need not restrict which
 *     services it trusts
 * @param kafka the component's Kafka login
 * @param redis the component's Redis login
 */
record Component(String role, Path folder, Path authorities, Login kafka, Login redis) {
  /** Returns the component's TLS files, without a certificate if it has none. */
  TlsFiles tls() {
    return tls("own");
  }

  /**
   * Returns the TLS files for the ports between Flink's processes. Flink has a separate certificate
   * for these; other components try theirs.
   */
  TlsFiles internalTls() {
    return tls(Files.exists(folder.resolve("internal.pem")) ? "internal" : "own");
  }

  private TlsFiles tls(String name) {
    Path certificate = folder.resolve(name + ".pem");
    return Files.exists(certificate)
        ? new TlsFiles(
            authorities.toString(),
            certificate.toString(),
            folder.resolve(name + ".key").toString())
        : new TlsFiles(authorities.toString(), "", "");
  }

  /** Returns the component's tokens of every kind. */
  List<String> tokens() {
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(file -> file.toString().endsWith("token")).map(Component::text).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String text(Path file) {
    try {
      return Files.readString(file).strip();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
