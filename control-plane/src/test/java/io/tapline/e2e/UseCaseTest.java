package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Runs the tutorial "Find the misconfigured server", NetAlytics' first use case. */
@MakesNetworkDevices
class UseCaseTest {
  @Test
  void thePapersTwoQueriesFindTheMisconfiguredServer() throws Exception {
    String port = Integer.toString(Server.freePort());
    String server = "http://127.0.0.1:" + port;
    try (Tutorial tutorial =
        new Tutorial(
            "find-the-misconfigured-server.md",
            Map.of("8480", port),
            Map.of("TAPLINE_SERVER", server))) {
      tutorial.run(ignored -> Fabric.await("the server answers", () -> answers(server)));
      assertThat(tutorial.programs()).isEqualTo(1);
      assertThat(tutorial.sessions()).isEqualTo(2);
    }
  }

  private static boolean answers(String server) throws InterruptedException {
    HttpRequest request = HttpRequest.newBuilder(URI.create(server + "/readyz")).build();
    try {
      return HttpClient.newHttpClient()
              .send(request, HttpResponse.BodyHandlers.discarding())
              .statusCode()
          == 200;
    } catch (IOException notYet) {
      return false;
    }
  }
}
