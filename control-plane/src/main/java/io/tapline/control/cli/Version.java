package io.tapline.control.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import picocli.CommandLine.IVersionProvider;

/** Reports the version in the parent POM; a snapshot reports the upcoming release's version. */
final class Version implements IVersionProvider {
  @Override
  public String[] getVersion() {
    try (InputStream file = Version.class.getResourceAsStream("version.txt")) {
      String version = new String(file.readAllBytes(), StandardCharsets.UTF_8).strip();
      return new String[] {"tapline " + version.replaceFirst("-.*", "")};
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
