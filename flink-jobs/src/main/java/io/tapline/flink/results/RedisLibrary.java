package io.tapline.flink.results;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import redis.clients.jedis.Jedis;

/** The library of Redis Functions that jobs call, tapline.lua. */
public final class RedisLibrary {
  private static final String NAME = "tapline";

  private RedisLibrary() {}

  /** Loads the library and replaces any existing version of it. */
  public static void load(Jedis redis) {
    redis.functionLoadReplace(text());
  }

  /** Returns true if any version of the library is loaded. */
  public static boolean isLoaded(Jedis redis) {
    return !redis.functionList(NAME).isEmpty();
  }

  private static String text() {
    try (InputStream lua = RedisLibrary.class.getResourceAsStream("tapline.lua")) {
      return new String(lua.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
