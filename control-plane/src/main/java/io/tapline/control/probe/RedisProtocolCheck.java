package io.tapline.control.probe;

import io.tapline.flink.Login;
import java.io.EOFException;
import java.io.IOException;
import java.net.ProtocolException;
import java.nio.charset.StandardCharsets;

/**
 * Checks that a server is a Redis server that accepts this login.
 *
 * @param login {@link Login#NONE} if the server should not require one
 */
record RedisProtocolCheck(Login login) implements ProtocolCheck {
  @Override
  public void check(Connection connection) throws IOException, Fault {
    if (!login.isNone()) {
      String answer = answer(connection, command("AUTH", login.user(), login.password()));
      if (!answer.equals("+OK")) {
        throw new Fault(
            "it rejects the %s (%s); check --redis-user and --redis-password-file"
                .formatted(login, answer.substring(1)));
      }
    }
    String answer = answer(connection, command("PING"));
    if (answer.startsWith("-NOAUTH")) {
      throw new Fault("it requires a login; give --redis-user and --redis-password-file");
    } else if (answer.startsWith("-")) {
      throw new Fault("it answers with an error: " + answer.substring(1));
    }
  }

  /** Sends a command and returns one line, which is a status or an error. */
  private static String answer(Connection connection, byte[] command) throws IOException {
    connection.send(command);
    String line = connection.line();
    if (line.isEmpty()) {
      throw new EOFException();
    } else if (!line.matches("\\+(OK|PONG)|-[A-Z]+ .*")) {
      byte[] bytes = line.getBytes(StandardCharsets.ISO_8859_1);
      throw new ProtocolException("not a Redis server: it sent " + Connection.shown(bytes));
    }
    return line;
  }

  /** Encodes a command in Redis's protocol: an array of strings with their lengths. */
  private static byte[] command(String... words) {
    StringBuilder text = new StringBuilder("*" + words.length + "\r\n");
    for (String word : words) {
      int bytes = word.getBytes(StandardCharsets.UTF_8).length;
      text.append('$').append(bytes).append("\r\n").append(word).append("\r\n");
    }
    return text.toString().getBytes(StandardCharsets.UTF_8);
  }
}
