package io.tapline.flink;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.UnixDomainSocketAddress;
import javax.net.ssl.SSLParameters;
import redis.clients.jedis.ClientSetInfoConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.DefaultJedisSocketFactory;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPoolConfig;
import redis.clients.jedis.JedisSocketFactory;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** Opens connections to Redis. */
public final class RedisClients {
  private static final int TIMEOUT_MS = 2_000;

  private RedisClients() {}

  /**
   * Opens a connection with a timeout of two seconds for each response.
   *
   * @throws UncheckedIOException if the TLS files can't be read
   */
  public static Jedis connect(RedisEndpoint redis) {
    try {
      return connect(redis, TIMEOUT_MS);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Opens a connection.
   *
   * @param timeoutMs timeout to connect, and for each response
   * @throws IOException with a user-facing message, if the TLS files can't be read
   * @throws redis.clients.jedis.exceptions.JedisException if the server does not answer, or refuses
   *     the login
   */
  public static Jedis connect(RedisEndpoint redis, int timeoutMs) throws IOException {
    JedisClientConfig config = config(redis, timeoutMs);
    return new Jedis(sockets(redis, config), config);
  }

  /**
   * Returns a pool without open connections.
   *
   * @param timeoutMs timeout to connect, and for each response
   * @throws IOException with a user-facing message, if the TLS files can't be read
   */
  public static JedisPool pool(RedisEndpoint redis, JedisPoolConfig bounds, int timeoutMs)
      throws IOException {
    JedisClientConfig config = config(redis, timeoutMs);
    return new JedisPool(bounds, sockets(redis, config), config);
  }

  private static JedisSocketFactory sockets(RedisEndpoint redis, JedisClientConfig config) {
    if (redis.at() instanceof InetSocketAddress tcp) {
      return new DefaultJedisSocketFactory(
          new HostAndPort(tcp.getHostString(), tcp.getPort()), config);
    }
    UnixDomainSocketAddress unix = (UnixDomainSocketAddress) redis.at();
    return () -> {
      try {
        return new UnixSocket(unix, config.getSocketTimeoutMillis());
      } catch (IOException e) {
        throw new JedisConnectionException("Failed to connect to " + redis.address() + ".", e);
      }
    };
  }

  private static JedisClientConfig config(RedisEndpoint redis, int timeoutMs) throws IOException {
    // Jedis would log a warning per connection if it negotiated the protocol. A user with few
    // rights may not set the library's name, and the server would log each attempt.
    DefaultJedisClientConfig.Builder config =
        DefaultJedisClientConfig.builder()
            .timeoutMillis(timeoutMs)
            .autoNegotiateProtocol(false)
            .clientSetInfoConfig(ClientSetInfoConfig.DISABLED);
    if (!redis.login().isNone()) {
      config.user(redis.login().user()).password(redis.login().password());
    }
    if (!redis.tls().isNone()) {
      SSLParameters parameters = new SSLParameters();
      // The certificate must match the requested host.
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      config
          .ssl(true)
          .sslSocketFactory(redis.tls().context().getSocketFactory())
          .sslParameters(parameters);
    }
    return config.build();
  }
}
