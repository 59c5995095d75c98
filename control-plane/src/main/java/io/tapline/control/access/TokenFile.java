package io.tapline.control.access;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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

  private final Path path;
  private Tokens tokens;
  private FileTime read;

  /**
   * Reads it.
   *
   * @throws IOException with what is wrong, for who wrote it
   */
  public TokenFile(Path path) throws IOException {
    this.path = path;
    try {
      load();
    } catch (IllegalArgumentException e) {
      throw new IOException(path + ": " + e.getMessage(), e);
    }
  }

  private void load() throws IOException {
    // Before the text, so that a change between the two is read next time.
    FileTime modified = Files.getLastModifiedTime(path);
    tokens = Tokens.read(Files.readString(path));
    read = modified;
  }

  /** The token of a secret, as the file is now. */
  public synchronized Optional<Token> find(String secret) {
    try {
      if (!Files.getLastModifiedTime(path).equals(read)) {
        load();
        LOG.info("tokens read again from {}", path);
      }
    } catch (IOException | IllegalArgumentException e) {
      LOG.warn("tokens stay as they were: {}: {}", path, e.getMessage());
    }
    return tokens.find(secret, Instant.now());
  }
}
