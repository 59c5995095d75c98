package io.tapline.control.registry;

import io.tapline.control.HashKeys;
import io.tapline.flink.Login;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.function.Function;

/**
 * Settings of a registry.
 *
 * @param address to listen on; port 0 takes a free one
 * @param term of this control plane: above that of every one before
 * @param brokers of Kafka, as hosts reach them
 * @param hashKeys the same in the whole deployment
 * @param logins how the monitor of a host logs in to the brokers; none where they want none. Must
 *     not block
 * @param probe how often agents are asked for a sign of life
 * @param lease without one for so long, an agent is lost
 * @param away how long a host is without a lease before another may go on in its place
 * @param grace how long what a lost agent was assigned waits for it, and agents for a control
 *     plane; less than 25 days
 */
public record RegistryOptions(
    InetSocketAddress address,
    long term,
    String brokers,
    HashKeys hashKeys,
    Function<String, Login> logins,
    Duration probe,
    Duration lease,
    Duration away,
    Duration grace) {
  /**
   * Probes twice a second, a lease of three seconds, three more before another host goes on, twenty
   * seconds of grace.
   */
  public static RegistryOptions usual(InetSocketAddress address, String brokers) {
    return new RegistryOptions(
        address,
        System.currentTimeMillis(),
        brokers,
        HashKeys.KNOWN,
        host -> Login.NONE,
        Duration.ofMillis(500),
        Duration.ofSeconds(3),
        Duration.ofSeconds(3),
        Duration.ofSeconds(20));
  }

  /** The same with another grace period. */
  public RegistryOptions withGrace(Duration newGrace) {
    return new RegistryOptions(
        address, term, brokers, hashKeys, logins, probe, lease, away, newGrace);
  }

  /** The same with other keys. */
  public RegistryOptions withHashKeys(HashKeys newKeys) {
    return new RegistryOptions(address, term, brokers, newKeys, logins, probe, lease, away, grace);
  }

  /** The same with brokers to which monitors log in. */
  public RegistryOptions withLogins(Function<String, Login> newLogins) {
    return new RegistryOptions(
        address, term, brokers, hashKeys, newLogins, probe, lease, away, grace);
  }

  /** The same of another term. */
  RegistryOptions withTerm(long newTerm) {
    return new RegistryOptions(
        address, newTerm, brokers, hashKeys, logins, probe, lease, away, grace);
  }
}
