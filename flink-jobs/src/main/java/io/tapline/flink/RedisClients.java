package io.tapline.flink;

import java.io.IOException;
import javax.net.ssl.SSLParameters;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.JedisClientConfig;

/** How connections to Redis are made. */
public final class RedisClients {
  private RedisClients() {}

  /**
   * Settings of a connection.
   *
   * @param timeoutMs to connect, and for an answer
   * @throws IOException with a sentence for people, if the files of TLS can't be read
   */
  public static JedisClientConfig config(TlsFiles tls, int timeoutMs) throws IOException {
    // Asking each server which protocol it speaks makes Jedis warn at every connection.
    DefaultJedisClientConfig.Builder config =
        DefaultJedisClientConfig.builder().timeoutMillis(timeoutMs).autoNegotiateProtocol(false);
    if (!tls.isNone()) {
      SSLParameters parameters = new SSLParameters();
      // The certificate is of the host that was asked for.
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      config.ssl(true).sslSocketFactory(tls.context().getSocketFactory()).sslParameters(parameters);
    }
    return config.build();
  }
}
