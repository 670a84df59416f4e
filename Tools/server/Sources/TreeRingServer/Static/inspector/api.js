// Requests to the server, with the token. A failure is an ApiError with the server's own sentence.

import { parse } from "./json.js";

/** A refusal or a failure that the server explains. */
export class ApiError extends Error {
  constructor(status, { code, message } = {}) {
    super(message ?? `The server answered with the status ${status}.`);
    this.status = status;
    this.code = code ?? "unknown";
  }
}

/** A path with percent-encoded segments: path`/v1/buckets/${bucket}/rows`. */
export function path(literals, ...segments) {
  return literals.reduce((text, literal, index) => {
    const segment = segments[index - 1];
    const plain = typeof segment === "string" ? segment : JSON.stringify(segment);
    return text + encodeURIComponent(plain) + literal;
  });
}

function answerOf(text) {
  try {
    return parse(text);
  } catch {
    return {};
  }
}

/** The requests of a page. */
export class Api {
  constructor(token) {
    this.token = token;
  }

  /**
   * Asks for JSON. Parameters that are null or undefined are left out.
   *
   * @throws {ApiError} for any answer but success
   */
  async get(target, parameters = {}, signal = undefined) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) {
      if (value !== null && value !== undefined && value !== "") query.set(name, value);
    }
    // The server takes a plus sign as itself.
    const text = `${query}`.replaceAll("+", "%20");
    const answer = await fetch(text ? `${target}?${text}` : target, {
      headers: this.token ? { Authorization: `Bearer ${this.token}` } : {}, signal,
    });
    const body = answerOf(await answer.text());
    if (!answer.ok) throw new ApiError(answer.status, body.error);
    return body;
  }
}

/** Answers of the latest question only: earlier ones that are under way are given up. */
export class Latest {
  /** Runs a task with a signal; undefined if a later one has begun, or it was given up. */
  async run(task) {
    this.controller?.abort();
    const controller = new AbortController();
    this.controller = controller;
    try {
      const result = await task(controller.signal);
      return controller === this.controller ? result : undefined;
    } catch (error) {
      if (controller.signal.aborted) return undefined;
      throw error;
    }
  }
}
