package io.tapline.schema;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Pattern;

/** Redis users and their permissions, from redis.acl. */
public final class RedisAcl {
  /** The control plane's user. */
  public static final String CONTROL = "control";

  private static final String JOB = "job-";
  private static final Pattern QUERY = Pattern.compile("[a-z0-9-]+");

  private RedisAcl() {}

  /** Returns the name of the Redis user for a query's job. */
  public static String jobUser(String query) {
    return JOB + query;
  }

  /**
   * Returns the arguments of {@code ACL SETUSER} after the user's name, for a query's job.
   *
   * @throws IllegalArgumentException if the ID could act as a pattern that matches other IDs
   */
  public static List<String> jobRules(String query, String password) {
    if (!QUERY.matcher(query).matches()) {
      throw new IllegalArgumentException(
          "query ID '" + query + "' can't be used in a Redis ACL rule");
    }
    return users().stream()
        .filter(user -> user.get(1).equals(JOB + "QUERY"))
        .flatMap(user -> user.stream().skip(2))
        .map(rule -> rule.replace("QUERY", query).replace("JOB_SHA256", sha256(password)))
        .toList();
  }

  /**
   * Returns lines for a server's configuration or aclfile: all users except job users.
   *
   * @param password password of {@link #CONTROL}
   */
  public static List<String> serverUsers(String password) {
    return users().stream()
        .filter(user -> !user.get(1).startsWith(JOB))
        .map(user -> String.join(" ", user).replace("CONTROL_SHA256", sha256(password)))
        .toList();
  }

  /** Returns the words of each user: {@code user}, its name, and its rules. */
  private static List<List<String>> users() {
    List<List<String>> users = new ArrayList<>();
    for (String line : text().lines().toList()) {
      if (line.isEmpty() || line.startsWith("#")) {
        continue;
      }
      if (line.startsWith("user ")) {
        users.add(new ArrayList<>());
      }
      users
          .get(users.size() - 1)
          .addAll(List.of(line.replaceFirst(" # .*", "").strip().split(" ")));
    }
    return users;
  }

  private static String text() {
    try (InputStream file = RedisAcl.class.getResourceAsStream("redis.acl")) {
      return new String(file.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the SHA-256 hash of a password in hexadecimal, as used in rules. */
  public static String sha256(String password) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      return HexFormat.of().formatHex(digest.digest(password.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
