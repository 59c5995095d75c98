package io.tapline.control.cli.options;

import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.UsageException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * The text of a query argument: the argument itself, {@code @FILE}, or {@code -} for standard
 * input.
 */
public final class QueryText {
  /** Description of the argument, for help texts. */
  public static final String HELP = "The query; @FILE reads it from a file, - from standard input.";

  private static final int MAX_BYTES = 1 << 16;

  private QueryText() {}

  public static String of(String argument) {
    if (argument.equals("-")) {
      return read(System.in, "standard input");
    } else if (argument.startsWith("@")) {
      return ofFile(Path.of(argument.substring(1)));
    }
    return argument;
  }

  private static String ofFile(Path file) {
    try (InputStream bytes = Files.newInputStream(file)) {
      return read(bytes, file.toString());
    } catch (NoSuchFileException e) {
      throw new CommandException("no query file " + file, e);
    } catch (IOException e) {
      throw new CommandException("can't read query file " + file + ": " + e.getMessage(), e);
    }
  }

  private static String read(InputStream stream, String place) {
    try {
      byte[] bytes = stream.readNBytes(MAX_BYTES + 1);
      if (bytes.length > MAX_BYTES) {
        throw new UsageException(
            "the query in " + place + " is longer than " + MAX_BYTES + " bytes");
      }
      return new String(bytes, StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new CommandException("can't read the query from " + place + ": " + e.getMessage(), e);
    }
  }
}
