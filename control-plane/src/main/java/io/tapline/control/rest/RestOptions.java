package io.tapline.control.rest;

import io.tapline.control.access.TokenFile;
import java.util.Optional;

/**
 * Where the REST server listens.
 *
 * @param bind address to bind to
 * @param port TCP port; 0 for any free one, which {@link RestServer#port} then tells
 * @param leader who leads
 * @param tokens of those who may ask; empty: all who reach it may do everything
 * @param mostStreams event streams that are open at a time
 */
public record RestOptions(
    String bind, int port, Leader leader, Optional<TokenFile> tokens, int mostStreams) {
  private static final int MOST_STREAMS = 1024;

  public static final String LOOPBACK = "127.0.0.1";

  public RestOptions {
    if (port < 0 || port > 65535) {
      throw new IllegalArgumentException("port " + port + ": a port is a number from 0 to 65535");
    }
  }

  /** On this host only. */
  public static RestOptions loopback(int port) {
    return new RestOptions(LOOPBACK, port, Leader.ALONE, Optional.empty(), MOST_STREAMS);
  }

  /** The same of one of several control planes. */
  public RestOptions led(Leader by) {
    return new RestOptions(bind, port, by, tokens, mostStreams);
  }

  /** For holders of these tokens. */
  public RestOptions with(TokenFile known) {
    return new RestOptions(bind, port, leader, Optional.of(known), mostStreams);
  }

  /** With so many event streams at a time at most. */
  public RestOptions streams(int most) {
    return new RestOptions(bind, port, leader, tokens, most);
  }
}
