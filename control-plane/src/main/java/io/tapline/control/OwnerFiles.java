package io.tapline.control;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;

/** Files that pass a secret to a process of the same user. */
public final class OwnerFiles {
  private OwnerFiles() {}

  /**
   * Creates a file with this text that only its owner can access.
   *
   * @return the file
   */
  public static Path write(Path file, String text) throws IOException {
    Files.createFile(
        file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    return Files.writeString(file, text, StandardOpenOption.WRITE);
  }
}
