package io.tapline.control.rest;

/**
 * Where the REST server listens.
 *
 * @param bind address to bind to
 * @param port TCP port; 0 for any free one, which {@link RestServer#port} then tells
 * @param leader who leads
 */
public record RestOptions(String bind, int port, Leader leader) {
  public static final String LOOPBACK = "127.0.0.1";

  public RestOptions {
    if (port < 0 || port > 65535) {
      throw new IllegalArgumentException("port " + port + ": a port is a number from 0 to 65535");
    }
  }

  /** On this host only. */
  public static RestOptions loopback(int port) {
    return new RestOptions(LOOPBACK, port, Leader.ALONE);
  }

  /** The same of one of several control planes. */
  public RestOptions led(Leader by) {
    return new RestOptions(bind, port, by);
  }
}
