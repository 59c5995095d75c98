package io.tapline.control.access;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A file of tokens, read again when it changes, so that a token can be withdrawn while the server
 * runs. Where the file can't be read any more, the tokens it had stay. Thread-safe.
 */
public final class TokenFile {
  private static final Logger LOG = LoggerFactory.getLogger(TokenFile.class);

  /** What changes with the file: a clock's tick may be too coarse for two changes. */
  private record Version(FileTime modified, Object file, long bytes) {
    static Version of(Path path) throws IOException {
      BasicFileAttributes now = Files.readAttributes(path, BasicFileAttributes.class);
      return new Version(now.lastModifiedTime(), now.fileKey(), now.size());
    }
  }

  private final Path path;
  private Tokens tokens;
  private Version read;
  private String complaint = "";

  /**
   * Reads it.
   *
   * @throws IOException with what is wrong, for who wrote it
   */
  public TokenFile(Path path) throws IOException {
    this.path = path;
    try {
      load();
    } catch (IOException | IllegalArgumentException e) {
      throw new IOException(path + ": " + why(e), e);
    }
  }

  /** The operating system's exceptions often say no more than the path. */
  private static String why(Exception e) {
    return e instanceof IOException ? "can't be read; is it there?" : e.getMessage();
  }

  private void load() throws IOException {
    // Before the text, so that a change between the two is read next time.
    Version now = Version.of(path);
    tokens = Tokens.read(Files.readString(path));
    read = now;
  }

  /** The token of a secret, as the file is now. */
  public synchronized Optional<Token> find(String secret) {
    refresh();
    return tokens.find(secret, Instant.now());
  }

  /** Whether the file has just this token now, and it has not expired. */
  public synchronized boolean holds(Token token) {
    refresh();
    return tokens.holds(token, Instant.now());
  }

  private void refresh() {
    try {
      if (!Version.of(path).equals(read)) {
        load();
        LOG.info("tokens read again from {}", path);
      }
      complaint = "";
    } catch (IOException | IllegalArgumentException e) {
      complain(why(e));
    }
  }

  /** Once, though every request looks at the file. */
  private void complain(String why) {
    if (!why.equals(complaint)) {
      LOG.warn("tokens stay as they were: {}: {}", path, why);
    }
    complaint = why;
  }
}
