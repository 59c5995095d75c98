package io.tapline.control.embedded;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.apache.kafka.common.utils.Exit;

/**
 * Intercepts Kafka's exits. When a broker can't continue, for example because the disk is full,
 * Kafka ends the JVM without a message; with this class, the owner of the brokers in this process
 * is notified instead. Thread-safe.
 */
final class BrokerExit {
  private static final List<Consumer<String>> LISTENERS = new CopyOnWriteArrayList<>();

  private BrokerExit() {}

  /** Calls {@code listener} with the reason when a broker of this process fails. */
  static void listen(Consumer<String> listener) {
    LISTENERS.add(listener);
    Exit.Procedure print = (status, message) -> print(message);
    Exit.setExitProcedure(print);
    Exit.setHaltProcedure(print);
  }

  static void forget(Consumer<String> listener) {
    LISTENERS.remove(listener);
  }

  private static void print(String message) {
    String reason = message == null ? "" : " (" + message + ")";
    LISTENERS.forEach(
        listener ->
            listener.accept(
                "the embedded Kafka broker has failed"
                    + reason
                    + ": the disk of its temporary folder may be full; free some space or set"
                    + " TMPDIR"));
  }
}
