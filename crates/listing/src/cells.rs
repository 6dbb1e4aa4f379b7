//! The cells of a row, by the extents of the headings above them.

/// Extent of the cells of a column. `start`, `end`: of its heading; `right`: whether they end below its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnSpan {
    pub start: usize,
    pub end: usize,
    pub right: bool,
}

/// Assignment of the words of a line to cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CellOrder {
    /// Each below its heading.
    #[default]
    Below,
    /// If there are as many words as columns, the words in order, wherever they are; otherwise as `Below`.
    Words,
    /// Texts that two blanks separate are the cells in their order, unless each begins where its column does.
    Texts,
}

/// Finds the extent of the text below each heading; an empty one if there is no text. False if a word is below two
/// headings, or two words are below a heading of numbers.
///
/// With as many words as columns, each word is a cell. Otherwise a cell of a column that is aligned on the right ends
/// below its heading, and one of another column begins there.
pub fn split(
    line: &[u8],
    places: &[ColumnSpan],
    order: CellOrder,
    extents: &mut Vec<(usize, usize)>,
) -> bool {
    extents.clear();
    words(line, extents);
    if extents.len() == places.len() && (order == CellOrder::Words || each(extents, places)) {
        return true;
    }
    if order == CellOrder::Texts && !aligned(line, extents, places) {
        join(line, extents);
        let fits = extents.len() <= places.len();
        extents.resize(places.len(), (0, 0));
        return fits;
    }
    let found = std::mem::take(extents);
    extents.resize(places.len(), (0, 0));
    let mut at = 0;
    for (start, end) in found {
        while at + 1 < places.len() && beyond(start, end, places[at], places[at + 1]) {
            at += 1;
        }
        let Some(place) = places.get(at) else {
            return false;
        };
        if let Some(next) = places.get(at + 1)
            && end > next.start
            && start < place.end
            && (place.right || next.right || start != place.start)
        {
            // Only a text that begins below the head of texts may continue below the next one.
            return false;
        }
        let known = extents[at];
        if known.0 == known.1 {
            extents[at] = (start, end);
        } else if place.right {
            // A number has no blanks in it.
            return false;
        } else {
            extents[at] = (known.0, end);
        }
    }
    true
}

fn words(line: &[u8], out: &mut Vec<(usize, usize)>) {
    let mut at = 0;
    while at < line.len() {
        if line[at] == b' ' {
            at += 1;
            continue;
        }
        let start = at;
        while at < line.len() && line[at] != b' ' {
            at += 1;
        }
        out.push((start, at));
    }
}

/// Whether in each column where a word is, one begins at its start.
fn aligned(line: &[u8], words: &[(usize, usize)], places: &[ColumnSpan]) -> bool {
    words.iter().all(|&(start, _)| {
        let before = places.iter().rposition(|place| place.start <= start);
        before.is_some_and(|at| {
            let begin = places[at].start;
            line[begin] != b' ' && (begin == 0 || line[begin - 1] == b' ')
        })
    })
}

/// Makes one text of words that one blank separates; dots in place of a value are a text of their own.
fn join(line: &[u8], words: &mut Vec<(usize, usize)>) {
    let dots = |(start, end): (usize, usize)| line[start..end].iter().all(|&byte| byte == b'.');
    words.dedup_by(|next, text| {
        let one = next.0 == text.1 + 1 && !dots(*next) && !dots(*text);
        if one {
            text.1 = next.1;
        }
        one
    });
}

/// Whether each word is below its head.
fn each(words: &[(usize, usize)], places: &[ColumnSpan]) -> bool {
    words
        .iter()
        .zip(places)
        .all(|(&(start, end), place)| start < place.end && end > place.start)
}

/// Whether a word belongs to a later column.
fn beyond(start: usize, end: usize, place: ColumnSpan, after: ColumnSpan) -> bool {
    match (place.right, after.right) {
        (true, true) => {
            end > place.end && (start >= place.end || end - place.end > place.end - start)
        }
        (true, false) => end > place.end && start >= place.end.min(after.start),
        (false, false) => start >= after.start,
        // A text before numbers: what ends below the head of the numbers is one.
        (false, true) => end >= after.end || start >= after.start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts<'a>(line: &'a str, places: &[ColumnSpan]) -> Option<Vec<&'a str>> {
        cells(line, places, CellOrder::Below)
    }

    fn cells<'a>(line: &'a str, places: &[ColumnSpan], order: CellOrder) -> Option<Vec<&'a str>> {
        let mut extents = Vec::new();
        split(line.as_bytes(), places, order, &mut extents).then(|| {
            extents
                .iter()
                .map(|&(start, end)| &line[start..end])
                .collect()
        })
    }

    const fn place(start: usize, end: usize, right: bool) -> ColumnSpan {
        ColumnSpan { start, end, right }
    }

    #[test]
    fn every_word_is_a_cell_of_full_row() {
        //      0     1     2
        //      Userid   %CPU TCPU
        let places = [place(0, 6, false), place(11, 15, true), place(17, 21, true)];
        assert_eq!(
            texts("LINUX01   191.6 68985", &places),
            Some(vec!["LINUX01", "191.6", "68985"])
        );
    }

    #[test]
    fn cells_are_assigned_by_their_edges() {
        //      Name   Limit     By    Rate
        let places = [
            place(0, 4, false),
            place(10, 15, false),
            place(24, 26, false),
            place(33, 37, true),
        ];
        let line = format!("{:<34}{}", "WEB       CAPACITY 1.4", "1.5");
        assert_eq!(
            texts(&line, &places),
            Some(vec!["WEB", "CAPACITY 1.4", "", "1.5"])
        );
        let line = format!("{:<24}OPER", "WEB");
        assert_eq!(texts(&line, &places), Some(vec!["WEB", "", "OPER", ""]));
    }

    #[test]
    fn word_below_two_headings_is_not_a_cell() {
        let places = [place(0, 3, true), place(4, 13, false)];
        assert_eq!(texts("Processor Configuration Mode: ESA", &places), None);
    }

    #[test]
    fn text_may_extend_below_next_text_heading() {
        //      Addr Type  Pa-
        let places = [place(0, 4, false), place(5, 9, false), place(12, 15, true)];
        assert_eq!(
            texts("PAGING       ..", &places),
            Some(vec!["PAGING", "", ".."])
        );
    }

    #[test]
    fn misaligned_texts_are_cells_in_order() {
        let places = [
            place(0, 22, false),
            place(23, 35, false),
            place(36, 58, false),
        ];
        let read = |line| cells(line, &places, CellOrder::Texts);
        assert_eq!(
            read("  STP is active     No    STP is suspended"),
            Some(vec!["STP is active", "No", "STP is suspended"])
        );
        assert_eq!(read("  ZAAP ......"), Some(vec!["ZAAP", "......", ""]));
        assert_eq!(
            read("STP is active          No           STP is suspended"),
            Some(vec!["STP is active", "No", "STP is suspended"])
        );
        assert_eq!(
            read("LIMITHARD algorithm    Consumption by all"),
            Some(vec!["LIMITHARD algorithm", "Consumption by all", ""])
        );
        assert_eq!(read("  a  b  c  d"), None);
    }

    #[test]
    fn misaligned_words_are_cells_in_order() {
        let places = [place(0, 6, false), place(11, 15, true), place(17, 21, true)];
        assert_eq!(
            cells("LINUX01 191.6 68985", &places, CellOrder::Words),
            Some(vec!["LINUX01", "191.6", "68985"])
        );
    }

    proptest! {
        #[test]
        fn any_line_is_split_or_rejected(line in "[ a-z0-9.]{0,80}", heads in prop::collection::vec((0_usize..60, 1_usize..12, any::<bool>()), 0..12)) {
            let places: Vec<ColumnSpan> = heads.iter().map(|&(start, length, right)| place(start, start + length, right)).collect();
            for order in [CellOrder::Below, CellOrder::Words, CellOrder::Texts] {
                if let Some(found) = cells(&line, &places, order) {
                    prop_assert_eq!(found.len(), places.len());
                }
            }
        }
    }
}
