import type { Failure, FieldError, Text } from './types';

/**
 * A request that did not succeed, with the message that a person is shown.
 *
 * `code` is the contract's (`invalid`, `not-found`, `conflict`, `slurm-unreachable`, `internal`, ...) or, when no
 * answer of Siflab's came, `no-answer` (the network), `no-extension` (404 of the server itself) or `not-allowed`.
 */
export class ApiFailure extends Error {
  constructor(
    readonly code: string,
    readonly text: Text,
    readonly errors: readonly FieldError[] = [],
    readonly status = 0
  ) {
    super(text.en);
    this.name = 'ApiFailure';
  }
}

/** Whether a body is the contract's `Failure`. */
export function isFailure(body: unknown): body is Failure {
  const failure = body as Partial<Failure> | null;
  return (
    typeof failure === 'object' &&
    failure !== null &&
    typeof failure.code === 'string' &&
    typeof failure.message === 'object' &&
    failure.message !== null
  );
}

/** The failure that an answer with an error status stands for. */
export function failureOfResponse(status: number, body: unknown): ApiFailure {
  if (isFailure(body)) {
    return new ApiFailure(body.code, body.message, body.errors ?? [], status);
  }
  if (status === 404) {
    return new ApiFailure('no-extension', NO_EXTENSION, [], status);
  }
  if (status === 401 || status === 403) {
    return new ApiFailure('not-allowed', NOT_ALLOWED, [], status);
  }
  if (status === 502 || status === 503 || status === 504) {
    return new ApiFailure('no-answer', NO_ANSWER, [], status);
  }
  return new ApiFailure('internal', unexpected(status), [], status);
}

/** The failure of a request to which no answer came. */
export function failureOfNetwork(): ApiFailure {
  return new ApiFailure('no-answer', NO_ANSWER);
}

// What the server cannot say itself stands here, in the form in which it would have said it.

const NO_EXTENSION: Text = {
  en: 'This Jupyter server does not know Siflab: its server extension is not installed or not enabled. Who maintains the image can look with "jupyter server extension list"; pip install siflab mends it.',
  zh: '此 Jupyter 服务器没有 Siflab：其服务器扩展未安装或未启用。镜像维护者可用 "jupyter server extension list" 查看，并用 pip install siflab 修复。'
};

const NOT_ALLOWED: Text = {
  en: 'The Jupyter server refused the request: the login has expired. Reload the page to log in again.',
  zh: 'Jupyter 服务器拒绝了请求：登录已过期。请刷新页面重新登录。'
};

const NO_ANSWER: Text = {
  en: 'The Jupyter server does not answer: the network is interrupted, or the session has ended.',
  zh: 'Jupyter 服务器没有响应：网络中断，或会话已结束。'
};

function unexpected(status: number): Text {
  return {
    en: `The Jupyter server answered with the error ${status}, without a reason. Its log says more.`,
    zh: `Jupyter 服务器返回错误 ${status}，未说明原因。详情见其日志。`
  };
}
