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
 * A file of tokens, reloaded when it changes, so that a token can be revoked while the server runs.
 * If the file can no longer be read, the tokens read last stay valid. Thread-safe.
 */
public final class TokenFile {
  private static final Logger LOG = LoggerFactory.getLogger(TokenFile.class);

  /**
   * Attributes that change with the file. The modification time alone may be too coarse to
   * distinguish two changes.
   */
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
   * Reads the file.
   *
   * @throws IOException with a user-facing message
   */
  public TokenFile(Path path) throws IOException {
    this.path = path;
    try {
      load();
    } catch (IOException | IllegalArgumentException e) {
      throw new IOException(path + ": " + reason(e), e);
    }
  }

  /**
   * Returns the reason for a failure. The message of an IOException is not used, since it is often
   * just the path.
   */
  private static String reason(Exception e) {
    return e instanceof IOException ? "can't be read; does it exist?" : e.getMessage();
  }

  private void load() throws IOException {
    // The version is read before the text, so the next check detects a change in between.
    Version now = Version.of(path);
    tokens = Tokens.read(Files.readString(path));
    read = now;
  }

  /** Returns the token with this secret in the current file, unless it has expired. */
  public synchronized Optional<Token> find(String secret) {
    refresh();
    return tokens.find(secret, Instant.now());
  }

  /** Returns the token with this hash in the current file, unless it has expired. */
  public synchronized Optional<Token> withHash(String sha256) {
    refresh();
    return tokens.withHash(sha256, Instant.now());
  }

  /** Returns {@link Tokens#quota} of the current file. */
  public synchronized Quota quota(String tenant) {
    refresh();
    return tokens.quota(tenant);
  }

  /** Returns true if the current file contains exactly this token, and it has not expired. */
  public synchronized boolean holds(Token token) {
    refresh();
    return tokens.holds(token, Instant.now());
  }

  private void refresh() {
    try {
      if (!Version.of(path).equals(read)) {
        load();
        LOG.info("reloaded tokens from {}", path);
      }
      complaint = "";
    } catch (IOException | IllegalArgumentException e) {
      complain(reason(e));
    }
  }

  /** Logs an error only when it is new, since every request checks the file. */
  private void complain(String reason) {
    if (!reason.equals(complaint)) {
      LOG.warn("keeping the old tokens: {}: {}", path, reason);
    }
    complaint = reason;
  }
}
