package io.tapline.control.drill;

/**
 * The address of a MultiLog node.
 *
 * @param name name of the host, as in results
 * @param target gRPC target: HOST:PORT, or unix:PATH
 */
public record NodeAddress(String name, String target) {

  /**
   * Parses "NAME=HOST:PORT".
   *
   * @throws IllegalArgumentException with a user-facing message
   */
  public static NodeAddress parse(String text) {
    int equals = text.indexOf('=');
    if (equals < 1 || equals == text.length() - 1) {
      throw new IllegalArgumentException(
          "'"
              + text
              + "' does not name a node: write it as NAME=HOST:PORT, for example h1=10.0.0.1:7400");
    }
    return new NodeAddress(text.substring(0, equals), text.substring(equals + 1));
  }

  /** Returns true if the target is a Unix domain socket, which only this host can reach. */
  boolean isSocketFile() {
    return target.startsWith("unix:") || target.startsWith("unix-abstract:");
  }

  /** Returns true if traffic to the target never leaves this host. */
  boolean isLocal() {
    int colon = target.lastIndexOf(':');
    String host = colon < 0 ? target : target.substring(0, colon);
    return isSocketFile()
        || host.equals("localhost")
        || host.equals("[::1]")
        || host.matches("127(\\.\\d{1,3}){3}");
  }
}
