package io.tapline.control.registry;

import io.tapline.control.HashKeys;
import io.tapline.flink.Login;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.function.Function;

/**
 * Settings of a registry.
 *
 * @param address address to listen on; port 0 selects a free one
 * @param term term of this control plane, higher than those of all earlier ones
 * @param brokers Kafka brokers, as hosts reach them
 * @param hashKeys hash keys, the same in the whole deployment
 * @param logins returns the broker login of a host's monitor, or no login if brokers require none.
 *     Must not block
 * @param probe interval of keep-alive probes
 * @param lease time after which an agent that has not renewed its lease is disconnected
 * @param disconnectAfter time without a lease after which another host may take over
 * @param grace time that assignments wait for a disconnected agent, and agents for a control plane;
 *     less than 25 days
 */
public record RegistryOptions(
    InetSocketAddress address,
    long term,
    String brokers,
    HashKeys hashKeys,
    Function<String, Login> logins,
    Duration probe,
    Duration lease,
    Duration disconnectAfter,
    Duration grace) {
  /**
   * Returns the defaults: two probes per second, a lease of three seconds, another three seconds
   * before another host takes over, and a grace period of twenty seconds.
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

  /** Returns these options with a different grace period. */
  public RegistryOptions withGrace(Duration newGrace) {
    return new RegistryOptions(
        address, term, brokers, hashKeys, logins, probe, lease, disconnectAfter, newGrace);
  }

  /** Returns these options with different keys. */
  public RegistryOptions withHashKeys(HashKeys newKeys) {
    return new RegistryOptions(
        address, term, brokers, newKeys, logins, probe, lease, disconnectAfter, grace);
  }

  /** Returns these options with the given broker logins. */
  public RegistryOptions withLogins(Function<String, Login> newLogins) {
    return new RegistryOptions(
        address, term, brokers, hashKeys, newLogins, probe, lease, disconnectAfter, grace);
  }

  /** Returns these options with a different term. */
  RegistryOptions withTerm(long newTerm) {
    return new RegistryOptions(
        address, newTerm, brokers, hashKeys, logins, probe, lease, disconnectAfter, grace);
  }
}
