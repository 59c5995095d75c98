package io.tapline.control.rest.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.rest.http.Route.Answer;
import io.tapline.control.rest.http.Route.Content;
import io.tapline.control.rest.http.Route.Parameter;
import java.util.List;
import java.util.Locale;

/** Writes the table of routes as an OpenAPI 3.1 document. */
public final class OpenApi {
  private static final String VERSION = "1";
  private static final String TOKEN = "token";

  private OpenApi() {}

  public static JsonNode document(List<Route> routes) {
    ObjectNode document = Json.object().put("openapi", "3.1.0");
    document
        .putObject("info")
        .put("title", "Tapline")
        .put("description", "Queries over the traffic of a running network.")
        .put("version", VERSION);
    ObjectNode paths = document.putObject("paths");
    for (Route route : routes) {
      paths
          .withObject("/" + escaped(route.path()))
          .set(route.method().name().toLowerCase(Locale.ROOT), operation(route));
    }
    ObjectNode components = document.putObject("components");
    components.set("schemas", Schemas.components());
    components
        .putObject("securitySchemes")
        .putObject(TOKEN)
        .put("type", "http")
        .put("scheme", "bearer")
        .put("description", "Required if the server was started with --tokens.");
    return document;
  }

  /** Escapes a name for a JSON pointer (RFC 6901). */
  private static String escaped(String name) {
    return name.replace("~", "~0").replace("/", "~1");
  }

  private static ObjectNode operation(Route route) {
    ObjectNode operation =
        Json.object().put("operationId", route.id()).put("summary", route.summary());
    if (!route.parameters().isEmpty()) {
      ArrayNode parameters = operation.putArray("parameters");
      route.parameters().forEach(parameter -> parameters.add(parameter(parameter)));
    }
    if (!route.body().isEmpty()) {
      ObjectNode content =
          operation.putObject("requestBody").put("required", true).putObject("content");
      route.body().forEach(body -> add(content, body));
    }
    if (route.role().isPresent()) {
      // Two alternatives: a server without tokens requires none.
      ArrayNode security = operation.putArray("security");
      security.addObject().putArray(TOKEN);
      security.addObject();
    }
    ObjectNode responses = operation.putObject("responses");
    route.answers().forEach(response -> add(responses, response));
    return operation;
  }

  private static ObjectNode parameter(Parameter parameter) {
    ObjectNode json =
        Json.object()
            .put("name", parameter.name())
            .put("in", parameter.in())
            .put("description", parameter.description())
            .put("required", parameter.in().equals("path"));
    json.set("schema", parameter.schema());
    return json;
  }

  /** Adds a response; responses with the same status are merged into one with several contents. */
  private static void add(ObjectNode responses, Answer response) {
    ObjectNode json = responses.withObjectProperty(Integer.toString(response.status()));
    String previousText = json.path("description").asText();
    json.put("description", (previousText + " " + response.description()).strip());
    if (response.content() != null) {
      add(json.withObjectProperty("content"), response.content());
    }
  }

  private static void add(ObjectNode contents, Content content) {
    ObjectNode json = contents.putObject(content.mediaType());
    if (!content.schema().isEmpty()) {
      json.set("schema", Schemas.reference(content.schema()));
    }
  }
}
