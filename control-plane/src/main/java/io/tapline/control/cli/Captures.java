package io.tapline.control.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Finds out early what is wrong with capture files, before anybody waits for a pipeline that has
 * nothing to read.
 */
final class Captures {
  private Captures() {}

  static void check(List<Path> files) {
    files.forEach(Captures::check);
  }

  private static void check(Path file) {
    if (!Files.exists(file)) {
      throw new CommandException("no capture file " + file);
    } else if (Files.isDirectory(file)) {
      throw new CommandException("capture " + file + " is a directory: give a file");
    } else if (!Files.isReadable(file)) {
      throw new CommandException("no permission to read capture " + file);
    } else if (isEmpty(file)) {
      throw new CommandException("capture " + file + " is empty: it has 0 bytes");
    }
  }

  private static boolean isEmpty(Path file) {
    try {
      return Files.isRegularFile(file) && Files.size(file) == 0;
    } catch (IOException e) {
      throw new CommandException("can't read capture " + file + ": " + e.getMessage(), e);
    }
  }
}
