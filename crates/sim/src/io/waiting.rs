//! Requests that wait: each in the order of arrival for the base device of its volume, and for an alias of the
//! volume's control unit by use. A request that one of them takes leaves both lists.

use crate::time::Ticks;

/// No request.
const NONE: u32 = u32::MAX;

/// A request to a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Whose it is; comes back with its completion.
    pub token: u32,
    /// Pages of paging I/O; 0 for minidisk I/O.
    pub pages: u32,
    /// Whether it writes; `None` is left to the volume's part of reads.
    pub write: Option<bool>,
}

/// A doubly linked list of requests.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
    count: u32,
}

impl List {
    const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
        count: 0,
    };
}

/// A request, in the list of its volume and in that of its pool and use.
#[derive(Clone, Copy, Debug)]
struct Node {
    volume: u32,
    request: Request,
    arrived: Ticks,
    /// Its lists, and its neighbors in each.
    lists: [u32; 2],
    before: [u32; 2],
    after: [u32; 2],
}

/// Waiting requests of a system.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// Those of volumes, then those of each pool and use.
    lists: Vec<List>,
    volumes: usize,
    nodes: Vec<Node>,
    free: u32,
}

impl Waiting {
    pub(super) fn new(volumes: usize, pools: usize) -> Self {
        Self {
            lists: vec![List::EMPTY; volumes + 2 * pools],
            volumes,
            nodes: Vec::new(),
            free: NONE,
        }
    }

    /// Requests that wait for a volume.
    pub(super) fn of_volume(&self, volume: usize) -> u32 {
        self.lists[volume].count
    }

    /// Requests that wait for an alias of a pool.
    pub(super) fn of_pool(&self, pool: usize, usage: usize) -> u32 {
        self.lists[self.pool_list(pool, usage)].count
    }

    /// The first request for an alias of a pool: when it came, and its volume.
    pub(super) fn first_of_pool(&self, pool: usize, usage: usize) -> Option<(Ticks, u32)> {
        let first = self.lists[self.pool_list(pool, usage)].first;
        let node = self.nodes.get(first as usize)?;
        Some((node.arrived, node.volume))
    }

    /// Adds a request for a volume, whose aliases are those of a pool.
    pub(super) fn add(
        &mut self,
        now: Ticks,
        volume: u32,
        pool: usize,
        usage: usize,
        request: Request,
    ) {
        let node = Node {
            volume,
            request,
            arrived: now,
            lists: [volume, self.pool_list(pool, usage) as u32],
            before: [NONE; 2],
            after: [NONE; 2],
        };
        let at = if self.free == NONE {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            let at = self.free;
            self.free = self.nodes[at as usize].after[0];
            self.nodes[at as usize] = node;
            at
        };
        for kind in 0..2 {
            let list = &mut self.lists[node.lists[kind] as usize];
            let last = list.last;
            list.last = at;
            list.count += 1;
            if last == NONE {
                list.first = at;
            } else {
                self.nodes[last as usize].after[kind] = at;
                self.nodes[at as usize].before[kind] = last;
            }
        }
    }

    /// Takes the first request of a volume.
    pub(super) fn take_of_volume(&mut self, volume: usize) -> Option<Request> {
        self.take(volume)
    }

    /// Takes the first request for an alias of a pool.
    pub(super) fn take_of_pool(&mut self, pool: usize, usage: usize) -> Option<Request> {
        self.take(self.pool_list(pool, usage))
    }

    fn pool_list(&self, pool: usize, usage: usize) -> usize {
        self.volumes + 2 * pool + usage
    }

    fn take(&mut self, list: usize) -> Option<Request> {
        let at = self.lists[list].first;
        let node = *self.nodes.get(at as usize)?;
        for kind in 0..2 {
            let (before, after) = (node.before[kind], node.after[kind]);
            let list = &mut self.lists[node.lists[kind] as usize];
            list.count -= 1;
            if before == NONE {
                list.first = after;
            } else {
                self.nodes[before as usize].after[kind] = after;
            }
            if after == NONE {
                list.last = before;
            } else {
                self.nodes[after as usize].before[kind] = before;
            }
        }
        self.nodes[at as usize].after[0] = self.free;
        self.free = at;
        Some(node.request)
    }
}
