package io.tapline.control.rest;

import io.tapline.control.rest.http.Json;
import io.tapline.control.rest.http.Problem;
import java.nio.ByteBuffer;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.util.Callback;

/**
 * Responds with a problem document to requests that the HTTP server rejects before routing, such as
 * malformed requests and oversized headers.
 */
final class JettyErrors extends ErrorHandler {
  @Override
  public boolean errorPageForMethod(String method) {
    return true;
  }

  @Override
  protected void generateResponse(
      Request request,
      Response response,
      int status,
      String message,
      Throwable cause,
      Callback callback) {
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, Problem.MEDIA_TYPE);
    response.getHeaders().put("X-Content-Type-Options", "nosniff");
    response.getHeaders().put("Cache-Control", "no-store");
    response.getHeaders().put("Content-Security-Policy", Guard.NOTHING);
    String path = request.getHttpURI() == null ? "" : request.getHttpURI().getPath();
    response.write(true, bytes(status, message, path), callback);
  }

  private static ByteBuffer bytes(int status, String message, String path) {
    String title = HttpStatus.getMessage(status);
    // Details of internal failures are only logged.
    String detail = status >= 500 || message == null ? title : message;
    Problem problem = Problem.of(status, "http", title, detail);
    return ByteBuffer.wrap(Json.bytes(problem.json(path == null ? "" : path)));
  }
}
