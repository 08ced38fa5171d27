use super::*;

const BUFFER: usize = 64_000;
const GROWN: u32 = 64_000;
const MESSAGE: usize = 10_000;

fn free(window: &ReceiveWindow) -> usize {
    usize::try_from(window.a_rwnd()).unwrap()
}

#[test]
fn the_window_shrinks_by_the_payload_that_arrives_and_opens_by_what_is_read() {
    let mut window = ReceiveWindow::new(BUFFER, 0, MESSAGE);
    window.hold(1_000);
    window.hold(500);
    assert_eq!(free(&window), BUFFER - 1_500);
    window.set_overhead(100);
    assert_eq!(window.memory_bytes(), 1_600);
    window.release(1_500);
    window.set_overhead(0);
    assert_eq!((free(&window), window.memory_bytes()), (BUFFER, 0));
}

#[test]
fn a_full_window_admits_nothing_and_an_overdraft_one_message() {
    let mut window = ReceiveWindow::new(BUFFER, 0, MESSAGE);
    (0..64).for_each(|_| window.hold(1_000));
    assert!(!window.admits(1, Credit::Window));
    assert!(window.admits(MESSAGE, Credit::Overdraft));
    assert!(!window.admits(MESSAGE + 1, Credit::Overdraft));
}

#[test]
fn single_octet_chunks_meet_the_memory_limit_and_the_peer_hears_of_it() {
    let mut window = ReceiveWindow::new(BUFFER, 0, MESSAGE);
    for chunks in 1.. {
        if !window.admits(1, Credit::Window) {
            break;
        }
        window.hold(1);
        window.set_overhead(chunks * CHUNK_OVERHEAD_BYTES);
    }
    assert!(window.memory_bytes() <= MEMORY_FACTOR * BUFFER);
    assert!(free(&window) <= CHUNK_OVERHEAD_BYTES);
}

#[test]
fn chunks_of_128_octets_always_fit_a_promised_window() {
    let mut window = ReceiveWindow::new(BUFFER, 0, MESSAGE);
    for chunks in 1.. {
        if free(&window) == 0 {
            break;
        }
        assert!(window.admits(128, Credit::Window));
        window.hold(128);
        window.set_overhead(chunks * CHUNK_OVERHEAD_BYTES);
    }
}

#[test]
fn a_nearly_closed_window_is_not_opened_by_small_steps() {
    let mut window = ReceiveWindow::new(BUFFER, 0, MESSAGE);
    (0..640).for_each(|_| window.hold(100));
    window.note_advertised(window.a_rwnd());
    (0..14).for_each(|_| window.release(100));
    assert_eq!(free(&window), 0);
    window.release(100);
    assert_eq!(free(&window), 1_500);
}

#[test]
fn an_update_is_due_after_a_quarter_of_the_buffer() {
    let mut window = ReceiveWindow::new(BUFFER, 0, MESSAGE);
    assert!(!window.is_update_due());
    (0..64).for_each(|_| window.hold(1_000));
    window.note_advertised(window.a_rwnd());
    (0..15).for_each(|_| window.release(1_000));
    assert!(!window.is_update_due());
    window.release(1_000);
    assert!(window.is_update_due());
    window.note_advertised(window.a_rwnd());
    assert!(!window.is_update_due());
}

#[test]
fn a_closed_window_has_reopened_when_a_packet_fits() {
    let mut window = ReceiveWindow::new(BUFFER, 0, MESSAGE);
    (0..640).for_each(|_| window.hold(100));
    window.note_advertised(window.a_rwnd());
    (0..14).for_each(|_| window.release(100));
    assert!(!window.has_reopened());
    window.release(100);
    assert!(window.has_reopened() && !window.is_update_due());
    window.note_advertised(window.a_rwnd());
    assert!(!window.has_reopened());
}

#[test]
fn buffer_doubles_whenever_as_much_was_read_as_it_holds_up_to_its_bound() {
    let mut window = ReceiveWindow::new(BUFFER, 3 * GROWN, MESSAGE);
    let read = |window: &mut ReceiveWindow, octets: usize| {
        window.hold(octets);
        window.release(octets);
        free(window) / 1_000
    };
    assert_eq!(read(&mut window, BUFFER - 1), 64);
    assert_eq!(read(&mut window, 1), 128);
    assert_eq!(read(&mut window, BUFFER), 128);
    assert_eq!(read(&mut window, BUFFER), 192);
    assert_eq!(read(&mut window, 3 * BUFFER), 192);
}

#[test]
fn buffer_does_not_grow_for_who_leaves_half_of_it_unread() {
    let mut window = ReceiveWindow::new(BUFFER, 4 * GROWN, MESSAGE);
    window.hold(BUFFER / 2);
    for _ in 0..10 {
        window.hold(10_000);
        window.release(10_000);
    }
    assert_eq!(free(&window), BUFFER / 2);
    window.release(1_000);
    assert_eq!(free(&window), 2 * BUFFER - BUFFER / 2 + 1_000);
}
