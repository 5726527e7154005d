/** What the page that verifies says to the one that opened it, which answers with the files, as an array. */

export const ASKING = "zenserve-verify: which files?";
