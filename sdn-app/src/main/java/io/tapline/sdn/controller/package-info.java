/** The controller: tracks the state of a network and keeps its switches in the wanted state. */
package io.tapline.sdn.controller;
