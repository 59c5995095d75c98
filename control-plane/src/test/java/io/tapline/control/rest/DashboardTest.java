package io.tapline.control.rest;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests how dashboard files are served, with the test's files instead of those in dashboard/. */
class DashboardTest {
  private static StoredQueries stored;

  @BeforeAll
  static void start() throws Exception {
    stored = new StoredQueries();
  }

  @AfterAll
  static void stop() throws Exception {
    stored.close();
  }

  private static String header(HttpResponse<String> response, String name) {
    return response.headers().firstValue(name).orElse("");
  }

  @Test
  void thePageLoadsNothingFromOtherHostsAndCannotBeFramed() throws Exception {
    HttpResponse<String> page = stored.rest.get("/");
    assertThat(page.statusCode()).isEqualTo(200);
    assertThat(page.body()).contains("A page for tests");
    assertThat(header(page, "Content-Type")).isEqualTo("text/html;charset=utf-8");
    assertThat(page.headers().allValues("Content-Security-Policy")).hasSize(1);
    assertThat(header(page, "Content-Security-Policy"))
        .contains("default-src 'none'")
        .contains("script-src 'self'")
        .contains("require-trusted-types-for 'script'")
        .contains("frame-ancestors 'none'")
        .doesNotContain("unsafe")
        .doesNotContain("http:")
        .doesNotContain("*");
    assertThat(header(page, "X-Content-Type-Options")).isEqualTo("nosniff");
    assertThat(header(page, "X-Frame-Options")).isEqualTo("DENY");
    assertThat(header(page, "Referrer-Policy")).isEqualTo("no-referrer");
    assertThat(header(page, "Cache-Control")).isEqualTo("no-store");
  }

  @Test
  void filesWithVersionedNamesAreCached() throws Exception {
    HttpResponse<String> script = stored.rest.get("/assets/index-1a_B.js");
    assertThat(script.statusCode()).isEqualTo(200);
    assertThat(header(script, "Content-Type")).isEqualTo("text/javascript;charset=utf-8");
    assertThat(header(script, "Cache-Control")).contains("immutable");
    assertThat(header(script, "Content-Security-Policy")).contains("connect-src 'self'");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/assets/none.js",
        "/assets/index.html",
        "/assets/..%2Findex.html",
        "/assets/..%2F..%2F..%2Fhttp%2Fschemas.json",
        "/assets/.js",
        "/index.html"
      })
  void servesOnlyThePagesOfTheJar(String path) throws Exception {
    HttpResponse<String> response = stored.rest.get(path);
    assertThat(response.statusCode()).as(response.body()).isBetween(400, 404);
    assertThat(response.body()).doesNotContain("A page for tests");
  }
}
