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
 * An intruder with all the secrets of a component.
 *
 * @param role its column in the table
 * @param folder folder with its certificate, key and tokens; the certificate may be missing
 * @param authorities authorities of all services, since an intruder need not check them
 * @param kafka its login there
 * @param redis its login there
 */
record Component(String role, Path folder, Path authorities, Login kafka, Login redis) {
  /** Returns its certificate. */
  TlsFiles tls() {
    return tls("own");
  }

  /** Flink's managers have another certificate among themselves. */
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

  /** Returns its tokens of every kind. */
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
