package io.tapline.control.rest;

import io.javalin.config.JettyConfig;
import javax.net.ssl.SSLContext;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.NetworkConnectionLimit;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.GracefulHandler;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** Limits and behavior of the underlying HTTP server. */
final class JettySettings {
  private static final int MAX_THREADS = 48;
  private static final int MIN_THREADS = 4;
  private static final int MAX_CONNECTIONS = 2048;

  /** Time that running requests have to finish when the server closes. */
  private static final long STOP_MS = 3000;

  private JettySettings() {}

  static void apply(JettyConfig config) {
    QueuedThreadPool threads = new QueuedThreadPool(MAX_THREADS, MIN_THREADS);
    threads.setName("rest");
    threads.setDaemon(true);
    config.threadPool = threads;
    config.modifyServer(JettySettings::server);
    config.modifyServletContextHandler(handler -> handler.setErrorHandler(new JettyErrors()));
    config.modifyHttpConfiguration(JettySettings::http);
  }

  /** Listens with TLS instead of plain HTTP. */
  static void encrypt(JettyConfig config, RestOptions options, SSLContext tls) {
    SslContextFactory.Server files = new SslContextFactory.Server();
    files.setSslContext(tls);
    files.setIncludeProtocols("TLSv1.2", "TLSv1.3");
    // Allows only ciphers with forward secrecy and authenticated encryption.
    files.setIncludeCipherSuites(
        "TLS_AES_.*", "TLS_CHACHA20_.*", "TLS_ECDHE_.*_GCM_.*", "TLS_ECDHE_.*_CHACHA20_.*");
    config.addConnector(
        (server, http) -> {
          ServerConnector connector =
              new ServerConnector(server, files, new HttpConnectionFactory(http));
          connector.setHost(options.bind());
          connector.setPort(options.port());
          return connector;
        });
  }

  private static void server(Server server) {
    server.setHandler(new GracefulHandler());
    server.setStopTimeout(STOP_MS);
    server.setErrorHandler(new JettyErrors());
    server.addBean(new NetworkConnectionLimit(MAX_CONNECTIONS, server));
  }

  private static void http(HttpConfiguration http) {
    http.setSendServerVersion(false);
    http.setSendXPoweredBy(false);
  }
}
