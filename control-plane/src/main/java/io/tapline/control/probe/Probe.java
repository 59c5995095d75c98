package io.tapline.control.probe;

import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.net.ProtocolException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import javax.net.ssl.SSLException;

/**
 * Connects to a server and checks it.
 *
 * @param tls none for a connection without TLS
 * @param service name of the service in {@code --tls}
 */
record Probe(Address address, TlsFiles tls, String service, ProtocolCheck question) {
  /** Time after which a TLS handshake is tried, since a server that waits for one sends nothing. */
  private static final Duration BEFORE_TLS = Duration.ofMillis(1_200);

  private static final Duration FOR_TLS = Duration.ofMillis(400);

  /**
   * Checks the server.
   *
   * @throws Fault if the server can't be used, for any reason
   */
  void run(Deadline deadline) throws Fault {
    try {
      check(tls.isNone() ? deadline.within(BEFORE_TLS) : deadline);
    } catch (SocketTimeoutException e) {
      refuseTls(e, deadline);
      retry(deadline);
    } catch (IOException e) {
      refuseTls(e, deadline);
      throw fault(e);
    }
  }

  private void check(Deadline deadline) throws IOException, Fault {
    try (Connection connection =
        tls.isNone()
            ? Connection.open(address, deadline)
            : Connection.open(address, tls, deadline)) {
      question.check(connection);
    }
  }

  /** Checks once more, with the rest of the time, in case the server is busy. */
  private void retry(Deadline deadline) throws Fault {
    try {
      check(deadline);
    } catch (IOException e) {
      throw fault(e);
    }
  }

  private void refuseTls(IOException e, Deadline deadline) throws Fault {
    if (tls.isNone() && TlsHello.isAnswered(address, deadline.within(FOR_TLS))) {
      throw new Fault(
          "it uses TLS; add --tls " + service + " with --tls-certificate, --tls-key and --tls-ca",
          e);
    }
  }

  private static Fault fault(IOException e) {
    if (e instanceof SSLException) {
      return Connection.handshakeFault(e);
    } else if (e instanceof ProtocolException) {
      return new Fault(e.getMessage() + "; is the port right?", e);
    } else if (e instanceof SocketTimeoutException) {
      return new Fault("it accepts connections but does not answer; is the port right?", e);
    }
    return new Fault("it closed the connection without an answer; is the port right?", e);
  }
}
