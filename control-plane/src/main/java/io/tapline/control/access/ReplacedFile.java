package io.tapline.control.access;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;

/** Replaces a file's text atomically: concurrent readers see either the old text or the new one. */
public final class ReplacedFile {
  private static final FileAttribute<?> OWNER_ONLY =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

  private ReplacedFile() {}

  /**
   * Writes a new file next to the old one and renames it over the old one. Owner, group and mode
   * stay the same; a file that did not exist is accessible only to its owner.
   *
   * @throws IOException if the file can't be replaced, for example because another user owns it;
   *     the file is then unchanged
   */
  public static void write(Path file, String text) throws IOException {
    // Resolves a symbolic link; otherwise the link itself would be replaced.
    Path place = Files.exists(file) ? file.toRealPath() : file.toAbsolutePath();
    Path next = Files.createTempFile(place.getParent(), ".tokens-", "", OWNER_ONLY);
    try {
      try (FileChannel channel = FileChannel.open(next, StandardOpenOption.WRITE)) {
        ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
        while (bytes.hasRemaining()) {
          channel.write(bytes);
        }
        channel.force(true);
      }
      if (Files.exists(place)) {
        copyRights(place, next);
      }
      Files.move(next, place, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(next);
    }
  }

  private static void copyRights(Path source, Path target) throws IOException {
    PosixFileAttributes wanted = Files.readAttributes(source, PosixFileAttributes.class);
    PosixFileAttributes attributes = Files.readAttributes(target, PosixFileAttributes.class);
    PosixFileAttributeView view = Files.getFileAttributeView(target, PosixFileAttributeView.class);
    if (!attributes.owner().equals(wanted.owner())) {
      view.setOwner(wanted.owner());
    }
    if (!attributes.group().equals(wanted.group())) {
      view.setGroup(wanted.group());
    }
    view.setPermissions(wanted.permissions());
  }
}
