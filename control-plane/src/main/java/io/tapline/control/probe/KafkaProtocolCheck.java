package io.tapline.control.probe;

import java.io.EOFException;
import java.io.IOException;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Checks that a server is a Kafka broker and that clients can use its listener without a login.
 *
 * <pre>
 *   request:  size, api_key (2), api_version (2), correlation_id (4), client_id: -1 (2), body
 *   response: size, correlation_id (4), body
 * </pre>
 *
 * <p>Uses two requests of <a href="https://kafka.apache.org/protocol">Kafka's protocol</a> that
 * every broker answers before a login: ApiVersions (version 0), and SaslHandshake (version 1),
 * which a listener without logins refuses.
 */
final class KafkaProtocolCheck implements ProtocolCheck {
  private static final short API_VERSIONS = 18;
  private static final short SASL_HANDSHAKE = 17;
  private static final int UNSUPPORTED_MECHANISM = 33;
  private static final int HEADER_BYTES = 10;
  private static final int MAX_RESPONSE_BYTES = 1 << 16;

  /** A mechanism that no broker has, so that a broker responds with the list of its mechanisms. */
  private static final byte[] NO_MECHANISM = "NONE".getBytes(StandardCharsets.US_ASCII);

  @Override
  public void check(Connection connection) throws IOException, Fault {
    connection.send(request(API_VERSIONS, (short) 0, new byte[0]));
    response(connection, API_VERSIONS);
    List<String> mechanisms = mechanisms(connection);
    if (!mechanisms.isEmpty()) {
      throw new Fault(
          "the listener requires a login (%s); name a listener that accepts clients without a login, or by certificate with --tls kafka"
              .formatted(String.join(", ", mechanisms)));
    }
  }

  /**
   * Returns the login mechanisms; empty if clients do not log in, or the broker does not answer.
   */
  private static List<String> mechanisms(Connection connection) {
    try {
      ByteBuffer body = ByteBuffer.allocate(2 + NO_MECHANISM.length);
      body.putShort((short) NO_MECHANISM.length).put(NO_MECHANISM);
      connection.send(request(SASL_HANDSHAKE, (short) 1, body.array()));
      ByteBuffer answer = response(connection, SASL_HANDSHAKE);
      List<String> names = new ArrayList<>();
      if (answer.getShort() == UNSUPPORTED_MECHANISM) {
        for (int left = answer.getInt(); left > 0; left--) {
          byte[] name = new byte[answer.getShort()];
          answer.get(name);
          names.add(new String(name, StandardCharsets.UTF_8));
        }
      }
      return names;
    } catch (IOException | RuntimeException unclear) {
      return List.of();
    }
  }

  /** Encodes a request, with its API key as the correlation ID, too. */
  private static byte[] request(short key, short version, byte[] body) {
    int size = HEADER_BYTES + body.length;
    return ByteBuffer.allocate(Integer.BYTES + size)
        .putInt(size)
        .putShort(key)
        .putShort(version)
        .putInt(key)
        .putShort((short) -1)
        .put(body)
        .array();
  }

  /** Returns the body of the response. */
  private static ByteBuffer response(Connection connection, int correlation) throws IOException {
    byte[] header = connection.read(2 * Integer.BYTES);
    if (header.length == 0) {
      throw new EOFException();
    }
    ByteBuffer read = ByteBuffer.wrap(header);
    boolean isWhole = header.length == 2 * Integer.BYTES;
    int size = isWhole ? read.getInt() : 0;
    if (size < Integer.BYTES || size > MAX_RESPONSE_BYTES || read.getInt() != correlation) {
      throw new ProtocolException("not a Kafka broker: it sent " + Connection.shown(header));
    }
    byte[] body = connection.read(size - Integer.BYTES);
    if (body.length < size - Integer.BYTES) {
      throw new EOFException();
    }
    return ByteBuffer.wrap(body);
  }
}
