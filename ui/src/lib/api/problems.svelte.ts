/** How many problems the inputs have. Every answer reports the count, because files may change. */

class Problems {
  count = $state(0);

  update(header: string | null): void {
    const count = Number(header);
    if (header !== null && Number.isInteger(count)) this.count = count;
  }
}

export const problems = new Problems();
