package io.tapline.control;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The hash keys of a deployment; a file has one key per line (packet_io/config/hash_key_file.h).
 *
 * @param flows key with which monitors sample flows and MultiLog nodes find them; both need the
 *     same key
 * @param texts key for the strings that a query hashes
 */
public record HashKeys(HashKey flows, HashKey texts) {
  /** The public keys, which hide nothing. */
  public static final HashKeys KNOWN = new HashKeys(HashKey.KNOWN, HashKey.KNOWN);

  private static final Pattern SPACE = Pattern.compile("\\s+");

  /**
   * Returns keys to use if none are configured: the public key for flows, so that MultiLog nodes
   * without a key find the same flows, and a random key for strings.
   */
  public static HashKeys drawn() {
    return KNOWN.withTexts(HashKey.random());
  }

  /** Returns these keys with a different key for strings. */
  public HashKeys withTexts(HashKey key) {
    return new HashKeys(flows, key);
  }

  /**
   * Reads a file with one key for both purposes, or one for flows and one for strings.
   *
   * @throws IOException with a user-facing message, without the file's contents
   */
  public static HashKeys read(Path file) throws IOException {
    List<String> words = words(file);
    if (words.isEmpty() || words.size() > 2) {
      throw wrong(file, "the file has " + words.size() + " words; it must have one or two");
    }
    try {
      return new HashKeys(HashKey.of(words.get(0)), HashKey.of(words.get(words.size() - 1)));
    } catch (IllegalArgumentException e) {
      throw wrong(file, e.getMessage());
    }
  }

  private static List<String> words(Path file) throws IOException {
    try {
      return SPACE.splitAsStream(Files.readString(file)).filter(word -> !word.isEmpty()).toList();
    } catch (CharacterCodingException e) {
      throw wrong(file, "the file is not text");
    } catch (IOException e) {
      throw new IOException(file + ": can't be read; does it exist?", e);
    }
  }

  private static IOException wrong(Path file, String reason) {
    return new IOException(file + ": a key is 32 hexadecimal digits; " + reason);
  }

  /** Returns true if users other than the file's owner and group can read it. */
  public static boolean isOpenToAll(Path file) throws IOException {
    return Files.getPosixFilePermissions(file).contains(PosixFilePermission.OTHERS_READ);
  }

  /**
   * Creates a file with these keys that only its owner can access.
   *
   * @return the file
   */
  public Path write(Path file) throws IOException {
    return OwnerFiles.write(file, flows.digits() + "\n" + texts.digits() + "\n");
  }
}
