package io.tapline.control.rest.system;

import io.javalin.http.Context;
import io.tapline.control.rest.http.Problem;
import io.tapline.control.rest.http.Route;
import io.tapline.control.rest.http.Schemas;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The dashboard, built into this jar from {@code dashboard/}. Its content security policy lets it
 * load only its own files and connect only to this server; no text becomes script or markup.
 */
public final class DashboardRoutes {
  private static final String FOLDER = "dashboard/";
  private static final String PAGE = "text/html;charset=utf-8";
  private static final String POLICY =
      "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self';"
          + " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
          + " require-trusted-types-for 'script'; trusted-types tapline";

  /** Names of files that the build creates; they change with the content. */
  private static final Pattern FILE = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]*\\.(js|css|svg)");

  private static final Map<String, String> MEDIA_TYPES =
      Map.of("js", "text/javascript", "css", "text/css", "svg", "image/svg+xml");
  private static final String FOREVER = "public, max-age=31536000, immutable";

  public List<Route> routes() {
    return List.of(
        Route.get("/", "getDashboard")
            .open()
            .summary("The dashboard, for browsers.")
            .answers(200, "text/html", "PlainText", "The page.")
            .problem(404, "The server was built without it.")
            .to(this::page),
        Route.get("/assets/{file}", "getDashboardFile")
            .open()
            .summary("A file of the dashboard.")
            .parameter("path", "file", Schemas.string(), "The file's name.")
            .answers(200, "text/javascript", "PlainText", "A script.")
            .answers(200, "text/css", "PlainText", "A style sheet.")
            .answers(200, "image/svg+xml", "PlainText", "A picture.")
            .problem(404, "There is no such file.")
            .to(this::file));
  }

  private void page(Context ctx) throws IOException {
    byte[] content = content("index.html");
    if (content == null) {
      throw Problem.notFound(
              "this build has no dashboard: run \"make\" to build it and the server's jar")
          .asException();
    }
    protect(ctx);
    ctx.contentType(PAGE).result(content);
  }

  private void file(Context ctx) throws IOException {
    Matcher name = FILE.matcher(ctx.pathParam("file"));
    byte[] content = name.matches() ? content("assets/" + name.group()) : null;
    if (content == null) {
      throw Problem.notFound("the dashboard has no such file: reload the page").asException();
    }
    protect(ctx);
    ctx.header("Cache-Control", FOREVER);
    ctx.contentType(MEDIA_TYPES.get(name.group(1)) + ";charset=utf-8").result(content);
  }

  /**
   * Sets the security headers. Scripts carry them, too: a worker is subject to the policy of its
   * script.
   */
  private static void protect(Context ctx) {
    ctx.header("Content-Security-Policy", POLICY);
    ctx.header("Cross-Origin-Opener-Policy", "same-origin");
    ctx.header("Permissions-Policy", "camera=(), geolocation=(), microphone=(), usb=()");
  }

  /** Returns a file's content; null if there is no such file. */
  private static byte[] content(String name) throws IOException {
    try (InputStream in = DashboardRoutes.class.getResourceAsStream(FOLDER + name)) {
      return in == null ? null : in.readAllBytes();
    }
  }
}
