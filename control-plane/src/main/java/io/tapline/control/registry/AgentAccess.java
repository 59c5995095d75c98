package io.tapline.control.registry;

import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerCredentials;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.TlsServerCredentials;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Who may hold leases: whoever has one of the tokens, over TLS; or, within a network of their own,
 * everybody.
 */
public final class AgentAccess implements ServerInterceptor {
  /** Everybody, without TLS. */
  public static final AgentAccess OPEN =
      new AgentAccess(InsecureServerCredentials.create(), List.of());

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final Pattern TOKEN = Pattern.compile("[\\x21-\\x7e]{16,}");

  private final ServerCredentials credentials;
  private final List<String> tokens;

  private AgentAccess(ServerCredentials credentials, List<String> tokens) {
    this.credentials = credentials;
    this.tokens = tokens;
  }

  /**
   * Reads the files.
   *
   * @param certificate of this host, and its key, as PEM
   * @param tokenFile a token a line; null: none is asked for
   * @throws IOException with a sentence for people
   */
  public static AgentAccess tls(Path certificate, Path key, Path tokenFile) throws IOException {
    List<String> tokens = tokenFile == null ? List.of() : tokens(tokenFile);
    try {
      return new AgentAccess(
          TlsServerCredentials.create(certificate.toFile(), key.toFile()), tokens);
    } catch (IOException e) {
      throw new IOException(certificate + ", " + key + ": can't be read; are they there?", e);
    }
  }

  private static List<String> tokens(Path file) throws IOException {
    List<String> tokens;
    try {
      tokens = Files.readAllLines(file).stream().filter(line -> !line.isEmpty()).toList();
    } catch (IOException e) {
      throw new IOException(file + ": can't be read; is it there?", e);
    }
    if (tokens.isEmpty() || !tokens.stream().allMatch(line -> TOKEN.matcher(line).matches())) {
      throw new IOException(file + ": a token is a line of 16 or more letters without spaces");
    }
    return tokens;
  }

  ServerCredentials credentials() {
    return credentials;
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    String refusal = refusal(headers.get(AUTHORIZATION));
    if (refusal.isEmpty()) {
      return next.startCall(call, headers);
    }
    call.close(Status.UNAUTHENTICATED.withDescription(refusal), new Metadata());
    return new ServerCall.Listener<>() {};
  }

  /** Empty if it may. Takes as long whichever token is nearly right. */
  private String refusal(String authorization) {
    if (tokens.isEmpty()) {
      return "";
    } else if (authorization == null) {
      return "a token is wanted";
    }
    byte[] given = authorization.getBytes(StandardCharsets.US_ASCII);
    boolean known = false;
    for (String token : tokens) {
      known |=
          MessageDigest.isEqual(("Bearer " + token).getBytes(StandardCharsets.US_ASCII), given);
    }
    return known ? "" : "the token is wrong";
  }
}
