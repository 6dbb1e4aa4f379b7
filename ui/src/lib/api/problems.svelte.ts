/** How many things could not be read as they stand: every answer tells, for a file may change meanwhile. */

class Problems {
  count = $state(0);

  update(header: string | null): void {
    const count = Number(header);
    if (header !== null && Number.isInteger(count)) this.count = count;
  }
}

export const problems = new Problems();
