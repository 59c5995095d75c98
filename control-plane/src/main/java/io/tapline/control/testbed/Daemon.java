package io.tapline.control.testbed;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * A program that the supervisor keeps running.
 *
 * @param command command that starts it
 * @param pidFile PID file of a program that detaches, and whose command returns once it is ready;
 *     null for a program that runs in the foreground
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record Daemon(String name, List<String> command, @JsonProperty("pid_file") String pidFile) {}
