/** What is wrong with a file or a request, under the stable codes of zenserve/codes.py. */

export class ZenError extends Error {
  override readonly name = "ZenError";
  readonly code: string;
  readonly field: string | null;
  readonly about: string | null;

  /**
   * `field`: what the error is about, null where that is all of the file; `about`: which of the files that were given
   * (`verify.Given`), null where that is not known.
   */
  constructor(code: string, message: string, field: string | null = null, about: string | null = null) {
    super(message);
    this.code = code;
    this.field = field;
    this.about = about;
  }
}
