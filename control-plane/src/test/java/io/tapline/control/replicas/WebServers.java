package io.tapline.control.replicas;

import io.tapline.control.testing.Await;
import io.tapline.control.testing.FreePort;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * An nginx process that serves several folders as separate servers, which accept PUT and DELETE.
 */
final class WebServers implements AutoCloseable {
  private final Path folder;
  private final List<Integer> ports = new ArrayList<>();
  private final Process nginx;

  WebServers(Path folder, int count) throws Exception {
    this.folder = folder;
    StringBuilder servers = new StringBuilder();
    for (int i = 0; i < count; i++) {
      ports.add(FreePort.any());
      Files.createDirectories(root(i));
      servers.append(
          "server { listen 127.0.0.1:%d; root %s; dav_methods PUT DELETE; create_full_put_path on; }\n"
              .formatted(ports.get(i), root(i)));
    }
    String user = System.getProperty("user.name").equals("root") ? "user root;" : "";
    Path configuration = folder.resolve("nginx.conf");
    Files.writeString(
        configuration,
        """
        daemon off; %s pid nginx.pid; error_log error.log; events {}
        http { access_log off; client_body_temp_path body; proxy_temp_path p; fastcgi_temp_path f;
        uwsgi_temp_path u; scgi_temp_path s;
        %s}
        """
            .formatted(user, servers));
    nginx =
        new ProcessBuilder(
                "/usr/sbin/nginx",
                "-p",
                folder + "/",
                "-e",
                "error.log",
                "-c",
                configuration.toString())
            .inheritIO()
            .start();
    Await.until("nginx listens", Duration.ofSeconds(60), this::listens);
  }

  private boolean listens() {
    for (int port : ports) {
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        socket.getPort();
      } catch (IOException notYet) {
        return false;
      }
    }
    return true;
  }

  Path root(int server) {
    return folder.resolve("web" + (server + 1));
  }

  WebServer server(int number) {
    return server(number, List.of(), List.of());
  }

  WebServer server(int number, List<String> start, List<String> stop) {
    return new WebServer("web" + (number + 1), address(number), start, stop);
  }

  String address(int number) {
    return "127.0.0.1:" + ports.get(number);
  }

  @Override
  public void close() throws Exception {
    nginx.destroy();
    if (!nginx.waitFor(10, TimeUnit.SECONDS)) {
      nginx.destroyForcibly();
    }
  }
}
